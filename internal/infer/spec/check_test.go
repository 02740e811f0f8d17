package spec

import "testing"

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name   string
		tree   Tree
		budget int
		ok     bool
	}{
		{"empty", Tree{}, 0, true},
		{"chain", Tree{[]int32{1, 2, 3}, []int{-1, 0, 1}}, 3, true},
		{"branches", Tree{[]int32{1, 2, 1, 1}, []int{-1, -1, 0, 1}}, 8, true},
		{"over budget", Tree{[]int32{1, 2}, []int{-1, 0}}, 1, false},
		{"parent after child", Tree{[]int32{1, 2}, []int{1, -1}}, 4, false},
		{"own parent", Tree{[]int32{1}, []int{0}}, 4, false},
		{"parent below the root", Tree{[]int32{1}, []int{-2}}, 4, false},
		{"twins", Tree{[]int32{1, 1}, []int{-1, -1}}, 4, false},
		{"unknown token", Tree{[]int32{10}, []int{-1}}, 4, false},
		{"negative token", Tree{[]int32{-1}, []int{-1}}, 4, false},
		{"lengths differ", Tree{[]int32{1}, nil}, 4, false},
	} {
		if err := tc.tree.Check(tc.budget, 10); (err == nil) != tc.ok {
			t.Errorf("%s: Check = %v, want ok %v", tc.name, err, tc.ok)
		}
	}
}

func TestChild(t *testing.T) {
	tree := Tree{[]int32{5, 6, 5, 7}, []int{-1, -1, 0, 2}}
	for _, tc := range []struct {
		parent int
		token  int32
		want   int
	}{{-1, 5, 0}, {-1, 6, 1}, {-1, 7, -1}, {0, 5, 2}, {1, 5, -1}, {2, 7, 3}, {3, 5, -1}} {
		if got := tree.Child(tc.parent, tc.token); got != tc.want {
			t.Errorf("Child(%d, %d) = %d, want %d", tc.parent, tc.token, got, tc.want)
		}
	}
}
