package office

import (
	"strconv"
	"strings"
)

// odfStyles is what styles say of lists and of what is hidden.
type odfStyles struct {
	hidden  map[string]bool // styles of text and of sheets
	lists   map[string]map[int]odfLevel
	outline map[int]odfLevel // of headings
}

func newStyles() *odfStyles {
	return &odfStyles{hidden: map[string]bool{}, lists: map[string]map[int]odfLevel{}, outline: map[int]odfLevel{}}
}

// odfLevel is how the items of one level of a list begin.
type odfLevel struct {
	bullet         bool
	format         string // empty: no number
	before, behind string
	shown          int // how many levels a number has
	start          int
}

// read reads styles, at any depth.
func (s *odfStyles) read(x *scan) error {
	return x.children(func(e element) error {
		if len(s.hidden)+len(s.lists) > maxEntries {
			return nil
		}
		switch e.name {
		case "style":
			name := e.get("name")
			return x.children(func(e element) error {
				if e.name == "text-properties" && (e.get("display") == "none") || e.name == "table-properties" && e.get("display") == "false" {
					s.hidden[name] = true
				}
				return nil
			}, nil)
		case "list-style":
			levels := map[int]odfLevel{}
			s.lists[e.get("name")] = levels
			return x.children(func(e element) error { readODFLevel(e, levels); return nil }, nil)
		case "outline-style":
			return x.children(func(e element) error { readODFLevel(e, s.outline); return nil }, nil)
		}
		return s.read(x)
	}, nil)
}

func readODFLevel(e element, levels map[int]odfLevel) {
	at := whole(e.get("level")) - 1
	if at < 0 || at > maxLevels {
		return
	}
	l := odfLevel{before: e.get("num-prefix"), behind: e.get("num-suffix"), shown: max(whole(e.get("display-levels")), 1), start: 1}
	if start := e.get("start-value"); start != "" {
		l.start = whole(start)
	}
	switch e.name {
	case "list-level-style-bullet", "list-level-style-image":
		l.bullet = true
	default:
		l.format = e.get("num-format")
	}
	levels[at] = l
}

// odfCounter counts the items of a list.
type odfCounter struct {
	levels map[int]odfLevel
	count  [maxLevels + 1]int
	begun  [maxLevels + 1]bool
}

func (c *odfCounter) restart(level, start int) {
	c.count[level], c.begun[level] = start-1, true
}

// label counts an item and returns its number with a space behind it, or "".
func (c *odfCounter) label(levels map[int]odfLevel, at int) string {
	l, ok := levels[at]
	if at < 0 || at > maxLevels || !ok {
		return ""
	}
	if !c.begun[at] {
		c.count[at], c.begun[at] = l.start-1, true
	}
	c.count[at]++
	for i := at + 1; i <= maxLevels; i++ {
		c.begun[i] = false
	}
	switch {
	case l.bullet:
		return "- "
	case l.format == "":
		return ""
	}
	var parts []string
	for i := max(0, at-l.shown+1); i <= at; i++ {
		if outer, ok := levels[i]; ok && outer.format != "" {
			if !c.begun[i] {
				c.count[i], c.begun[i] = outer.start, true
			}
			parts = append(parts, ordinal(outer.format, c.count[i]))
		}
	}
	return l.before + strings.Join(parts, ".") + l.behind + " "
}

// repeats is how often something is repeated, at most.
func repeats(e element, name string, most int) int {
	n, err := strconv.Atoi(e.get(name))
	if err != nil {
		return 1
	}
	return min(max(n, 1), most)
}
