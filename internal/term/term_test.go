package term

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// screen is a terminal that understands what Progress writes: text, line ends, carriage returns, "up n lines" and
// "clear from here on". A line that reaches the last column would wrap: it fails.
type screen struct {
	mu     sync.Mutex
	lines  []string
	row    int
	col    int
	width  int
	writes int
	err    error // the first thing that a terminal could not show properly
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if err := s.show(b); err != nil && s.err == nil {
		s.err = err
	}
	return len(b), nil
}

func (s *screen) show(b []byte) error {
	text := []rune(string(b))
	for len(text) > 0 {
		s.grow()
		switch r := text[0]; {
		case r == '\n':
			s.row, s.col = s.row+1, 0
			s.grow()
		case r == '\r':
			s.col = 0
		case r == '\x1b':
			var n int
			if strings.HasPrefix(string(text), "\x1b[J") {
				s.lines = s.lines[:s.row+1]
				s.lines[s.row] = string([]rune(s.lines[s.row])[:s.col])
				text = text[3:]
				continue
			}
			if _, err := fmt.Sscanf(string(text), "\x1b[%dA", &n); err != nil || n < 1 || n > s.row {
				return fmt.Errorf("cannot read %q on row %d", string(text), s.row)
			}
			s.row -= n
			text = text[strings.IndexRune(string(text), 'A')+1:]
			continue
		default:
			line := []rune(s.lines[s.row])
			s.lines[s.row] = string(line[:s.col]) + string(r)
			if s.col++; s.col >= s.width {
				return fmt.Errorf("line %q wraps", s.lines[s.row])
			}
		}
		text = text[1:]
	}
	return nil
}

func (s *screen) grow() {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, "")
	}
}

func (s *screen) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err.Error()
	}
	return strings.TrimRight(strings.Join(s.lines, "\n"), "\n")
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the screen differs (-want +got):\n%s", diff)
	}
}

func TestTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &screen{width: 24}
		p := NewProgress(s, true, func() int { return s.width })
		p.Line("begin %d", 1)
		p.Set("first", "second")
		want(t, s.shows(), "begin 1\nfirst\nsecond")
		p.Set("a line that is longer than the screen", "2", "3")
		want(t, s.shows(), "begin 1\nfirst\nsecond") // too soon
		time.Sleep(redrawEvery)
		synctest.Wait()
		want(t, s.shows(), "begin 1\na line that is longer …\n2\n3") // drawn by itself
		p.Line("stays")
		want(t, s.shows(), "begin 1\nstays")
		p.Set("moves")
		want(t, s.shows(), "begin 1\nstays\nmoves")
		p.Set("late")
		p.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		want(t, s.shows(), "begin 1\nstays")
	})
}

func TestRedrawRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &screen{width: 80}
		p := NewProgress(s, true, nil)
		for i := range 1000 { // one second of a busy caller
			p.Set(fmt.Sprint(i))
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if s.writes > 5 {
			t.Errorf("%d drawings in a second, want at most 5", s.writes)
		}
		p.Close()
	})
}

func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		p := NewProgress(&b, false, nil)
		for i := range 25 {
			p.Set(fmt.Sprintf("  second %d", i), "of 25")
			if i == 15 {
				p.Line("a line that stays")
			}
			time.Sleep(time.Second)
		}
		p.Close()
		want(t, b.String(), "second 10; of 25\na line that stays\n")
	})
}

func TestNilProgress(t *testing.T) {
	var p *Progress
	p.Line("x")
	p.Set("x")
	p.Close()
}

// TestScreenLaw: whatever is called and whenever, after Close the screen holds the lines that stay and nothing else.
func TestScreenLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		calls := rapid.SliceOf(rapid.IntRange(0, 5)).Draw(r, "calls")
		synctest.Test(t, func(t *testing.T) {
			s := &screen{width: 12}
			p := NewProgress(s, true, func() int { return s.width })
			var stay []string
			for i, n := range calls {
				if n == 0 {
					stay = append(stay, fmt.Sprintf("stays %d", i))
					p.Line("%s", stay[len(stay)-1])
				} else {
					p.Set(strings.Split(strings.Repeat(fmt.Sprintf("moving line\x1b[2A %d\n", i), n), "\n")...)
				}
				time.Sleep(time.Duration(n) * 60 * time.Millisecond)
			}
			p.Close()
			time.Sleep(time.Second)
			synctest.Wait()
			want(t, s.shows(), strings.Join(stay, "\n"))
		})
	})
}

func TestText(t *testing.T) {
	got, want := []string{
		Bytes(0), Bytes(999), Bytes(1000), Bytes(98362432), Bytes(999_949_999), Bytes(999_960_000), Bytes(5e12),
		Duration(0), Duration(850 * time.Millisecond), Duration(999600 * time.Microsecond), Duration(6100 * time.Millisecond),
		Duration(59990 * time.Millisecond), Duration(128 * time.Second), Duration(3*time.Hour + 5*time.Minute),
		Bar(0, 10, 12), Bar(5, 10, 12), Bar(10, 10, 12), Bar(99, 10, 12), Bar(5, 0, 7),
		Cut("abc", 3), Cut("abcd", 3), Cut("a\x1b[31m\nb", 20), Cut("äöü", 2), Cut("abc", 0),
	}, []string{
		"0 B", "999 B", "1.0 kB", "98.4 MB", "999.9 MB", "1.0 GB", "5.0 TB",
		"0 ms", "850 ms", "1.0 s", "6.1 s",
		"1 min 0 s", "2 min 8 s", "3 h 5 min",
		"[          ]", "[=====     ]", "[==========]", "[==========]", "[     ]",
		"abc", "ab…", "a [31m b", "ä…", "abc",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text differs (-want +got):\n%s", diff)
	}
}
