package reader

import (
	"regexp"
	"strings"
)

var (
	mdLabel   = regexp.MustCompile(`\[([^\[\]]+)\](:?)`)
	mdAddress = regexp.MustCompile(`^(?:<|#[A-Za-z]|\.{0,2}/|[A-Za-z][A-Za-z0-9+.-]+:|.*\.[A-Za-z])`)
)

// labels are what references in Markdown may name: links, and "^1" of notes.
// A link that is not surely one is false until another place names it.
type labels map[string]bool

// definitions finds the labels that a text defines.
func definitions(text string) labels {
	all := labels{}
	doubt := false
	for l := range strings.SplitSeq(text, "\n") {
		t := strings.TrimSpace(l)
		if !strings.HasPrefix(t, "[") {
			continue
		}
		label, rest, ok := strings.Cut(t[1:], "]:")
		switch {
		case !ok:
		case label != "" && label[0] == '^':
			all[label] = true
		case mdRef.MatchString(l):
			name := strings.ToLower(label)
			all[name] = all[name] || mdAddress.MatchString(strings.TrimSpace(rest))
			doubt = doubt || !all[name]
		}
	}
	if doubt {
		for _, m := range mdLabel.FindAllStringSubmatch(text, -1) {
			if _, there := all[strings.ToLower(m[1])]; there && m[2] == "" {
				all[strings.ToLower(m[1])] = true
			}
		}
	}
	return all
}

// link says that a line says where a link leads, and no more. "[Ana]: yes/no" is
// said by somebody.
func (d labels) link(l string) bool {
	if !mdRef.MatchString(l) {
		return false
	}
	label, _, _ := strings.Cut(strings.TrimSpace(l)[1:], "]:")
	return d[strings.ToLower(label)]
}

// shown gives the words of a link. What only looks like one stays as it is:
// "[PUMP-12][PUMP-13]".
func (d labels) shown(link string) string {
	m := mdLink.FindStringSubmatch(link)
	if label := strings.ToLower(m[2]); label != "" && label != strings.ToLower(m[1]) && !d[label] {
		return link
	}
	return m[1]
}
