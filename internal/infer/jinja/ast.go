package jinja

// node is a statement.
type node interface{}

// expr is an expression. Every one knows its line, for errors.
type expr interface{ at() int }

type pos int

func (p pos) at() int { return int(p) }

// Statements.
type (
	dataNode  struct{ text string }
	printNode struct{ x expr }
	ifNode    struct {
		conds  []expr   // if, elif
		bodies [][]node // one for each, and one more for else
	}
	forNode struct {
		pos
		target     []string // several: unpack
		over, cond expr     // cond may be nil
		body, none []node
	}
	setNode struct {
		pos
		target []string
		attr   string // of a namespace; "" when a variable is set
		value  expr   // nil: the body's text
		body   []node
		filter expr // around the body's text, or nil
	}
	macroNode struct {
		pos
		name     string
		params   []string
		defaults []expr // of the last parameters
		body     []node
	}
	callNode struct {
		pos
		call   *callExpr
		caller *macroNode
	}
	filterNode struct {
		pos
		filter expr
		body   []node
	}
	withNode struct {
		names  []string
		values []expr
		body   []node
	}
	loopControl struct{ signal signal }
)

// Expressions.
type (
	literal struct {
		pos
		value any
	}
	nameExpr struct {
		pos
		name string
	}
	listExpr struct {
		pos
		items []expr
		tuple bool
	}
	dictExpr struct {
		pos
		keys, values []expr
	}
	unaryExpr struct {
		pos
		op string // - + not
		x  expr
	}
	binaryExpr struct {
		pos
		op   string // arithmetic, ~, and, or
		l, r expr
	}
	compareExpr struct {
		pos
		first expr
		ops   []string // == != < <= > >= in, not in
		rest  []expr
	}
	condExpr struct {
		pos
		test, yes, no expr // no may be nil
	}
	attrExpr struct {
		pos
		x    expr
		name string
	}
	indexExpr struct {
		pos
		x, index expr
	}
	sliceExpr struct {
		pos
		x, from, to, step expr // x only is never nil
	}
	callExpr struct {
		pos
		fn   expr
		args args
	}
	filterExpr struct {
		pos
		x    expr // nil in a filter block: its text
		name string
		args args
	}
	testExpr struct {
		pos
		x    expr
		name string
		not  bool
		args args
	}
	// args are the arguments of a call, filter or test. star and starStar are *list and **dict.
	args struct {
		list           []expr
		names          []string
		named          []expr
		star, starStar expr
	}
)
