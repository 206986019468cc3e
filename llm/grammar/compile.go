package grammar

import "github.com/percached/percached/internal/base/fault"

// Grammar is a compiled grammar. It never changes.
type Grammar struct {
	code  []instr
	start []int32 // of each rule
	root  int32
}

type instr struct {
	op   op
	x, y int32
	set  *set
}

type op uint8

const (
	opSet    op = iota // a character of set, then the next instruction
	opSplit            // x or y
	opJump             // x
	opCall             // the rule x, then the next instruction
	opReturn           // the end of a rule
)

// endless returns a rule that root uses and whose texts have no end; -1 if there is none.
func endless(rules []*node, root int) int {
	ends := make([]bool, len(rules))
	var finite func(n *node) bool
	finite = func(n *node) bool {
		switch n.kind {
		case nodeRule:
			return ends[n.rule]
		case nodeAll:
			for _, k := range n.kids {
				if !finite(k) {
					return false
				}
			}
		case nodeAny:
			for _, k := range n.kids {
				if finite(k) {
					return true
				}
			}
			return false
		case nodeRepeat:
			return n.min == 0 || finite(n.kids[0])
		}
		return true
	}
	// Rules are looked at again only when one that they use changed.
	users := make([][]int, len(rules))
	for id, r := range rules {
		eachRule(r, func(used int) { users[used] = append(users[used], id) })
	}
	todo := make([]int, len(rules))
	for id := range rules {
		todo[id] = id
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !ends[id] && finite(rules[id]) {
			ends[id] = true
			todo = append(todo, users[id]...)
		}
	}
	used := make([]bool, len(rules))
	used[root] = true
	for todo = append(todo, root); len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !ends[id] {
			return id
		}
		eachRule(rules[id], func(next int) {
			if !used[next] {
				used[next] = true
				todo = append(todo, next)
			}
		})
	}
	return -1
}

// eachRule calls f with every rule that a part refers to.
func eachRule(n *node, f func(rule int)) {
	if n.kind == nodeRule {
		f(n.rule)
	}
	for _, k := range n.kids {
		eachRule(k, f)
	}
}

func compile(rules []*node, root int) (*Grammar, error) {
	g := &Grammar{start: make([]int32, len(rules)), root: int32(root)}
	for id, r := range rules {
		g.start[id] = int32(len(g.code))
		if !g.emit(r) {
			return nil, fault.New(fault.Invalid, opParse, "the grammar is too large: its repetitions make more than %d steps", maxCode)
		}
		g.code = append(g.code, instr{op: opReturn})
	}
	return g, nil
}

// emit appends the code of a part; false: the limit is reached.
func (g *Grammar) emit(n *node) bool {
	if len(g.code) > maxCode {
		return false
	}
	switch n.kind {
	case nodeSet:
		g.code = append(g.code, instr{op: opSet, set: n.set})
	case nodeRule:
		g.code = append(g.code, instr{op: opCall, x: int32(n.rule)})
	case nodeAll:
		for _, k := range n.kids {
			if !g.emit(k) {
				return false
			}
		}
	case nodeAny:
		return g.emitAny(n.kids)
	case nodeRepeat:
		return g.emitRepeat(n)
	}
	return true
}

func (g *Grammar) emitAny(kids []*node) bool {
	var ends []int
	for i, k := range kids {
		split := len(g.code)
		if i < len(kids)-1 {
			g.code = append(g.code, instr{op: opSplit, x: int32(split + 1)})
		}
		if !g.emit(k) {
			return false
		}
		if i < len(kids)-1 {
			ends = append(ends, len(g.code))
			g.code = append(g.code, instr{op: opJump})
			g.code[split].y = int32(len(g.code))
		}
	}
	for _, at := range ends {
		g.code[at].x = int32(len(g.code))
	}
	return true
}

func (g *Grammar) emitRepeat(n *node) bool {
	for range n.min {
		before := len(g.code)
		if !g.emit(n.kids[0]) {
			return false
		}
		if len(g.code) == before {
			return true // the kid is empty
		}
	}
	if n.max < 0 {
		split := len(g.code)
		g.code = append(g.code, instr{op: opSplit, x: int32(split + 1)})
		if !g.emit(n.kids[0]) {
			return false
		}
		g.code = append(g.code, instr{op: opJump, x: int32(split)})
		g.code[split].y = int32(len(g.code))
		return true
	}
	var ends []int
	for range n.max - n.min {
		split := len(g.code)
		ends = append(ends, split)
		g.code = append(g.code, instr{op: opSplit, x: int32(split + 1)})
		if !g.emit(n.kids[0]) {
			return false
		}
	}
	for _, at := range ends {
		g.code[at].y = int32(len(g.code))
	}
	return true
}
