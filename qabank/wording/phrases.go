package wording

import "strings"

// items turns tokens into items: numbers and dates are read, words brought to
// their base form and gathered into the groups of the lists.
func items(t []token, names map[string]bool) []item {
	x := english()
	var out []item
	for i := 0; i < len(t); {
		if names[t[i].raw] {
			if _, _, ok := dateAt(t, i); !ok {
				out = append(out, fixed(t[i], t[i].raw, name))
				i++
				continue
			}
		}
		if it, n, ok := dateAt(t, i); ok {
			out = append(out, it)
			i += n
			continue
		}
		if it, n, ok := spelled(t[i:]); ok && !(t[i].raw == "one" && n == 1 && oneWord(raw(t, i-1))) {
			out = append(out, it)
			i += n
			continue
		}
		if strings.ContainsAny(t[i].raw, "0123456789") {
			if its, ok := figures(t[i]); ok {
				i++
				if s := scale(raw(t, i)); s > 0 && len(its) == 1 && its[0].class == number {
					its[0].key = scaled(its[0].key, s)
					i++
				}
				out = append(out, its...)
				if n := len(out) - 2; n >= 0 && len(its) == 1 && moneyBefore(out[n].raw) {
					out[n], out[n+1] = out[n+1], out[n] // $5 as 5 dollars
				}
				continue
			}
		}
		if u := units[t[i].raw]; u != "" && !isLetter(t[i].raw) {
			out = append(out, fixed(t[i], u, content))
			i++
			continue
		}
		lemma, f := x.lemma(t[i].raw)
		if before := raw(t, i-1); f == 0 && strings.HasSuffix(t[i].raw, "ing") && (x.formOf(before, "be") || i > 1 && names[before] && x.formOf(raw(t, i-2), "be")) {
			if v := x.stem(strings.TrimSuffix(t[i].raw, "ing")); v != "" {
				lemma, f = v, ing
			}
		}
		out = append(out, item{raw: t[i].raw, key: lemma, form: f, comma: t[i].comma})
		i++
	}
	return gather(out)
}

// oneWord: "which one" and "the one" count nothing.
func oneWord(before string) bool {
	switch before {
	case "which", "the", "this", "that", "any", "every", "each", "no", "another", "does":
		return true
	}
	return false
}

func isLetter(w string) bool { return w[0] >= 'a' && w[0] <= 'z' }

// gather puts the longest phrases of the lists in the place of their words,
// and then those of a verb and a word that stands apart from it.
func gather(in []item) []item {
	x := english()
	var out []item
	for i := 0; i < len(in); {
		n, group := x.phraseAt(in, i)
		if n == 0 {
			out = append(out, in[i])
			i++
			continue
		}
		it := in[i]
		for _, w := range in[i+1 : i+n] {
			if it.form == 0 {
				it.form = w.form
			}
			it.raw += " " + w.raw
		}
		it.key = group
		if n > 1 && !x.does(group) {
			it.form = 0
		}
		out = append(out, it)
		i += n
	}
	return apart(out)
}

func (x *lexicon) phraseAt(in []item, i int) (n int, group string) {
	lemmas, raws := "", ""
	for k := 0; k < x.longest && i+k < len(in); k++ {
		w := in[i+k]
		if w.fixed && w.class != number || k > 0 && w.comma {
			break
		}
		if k > 0 {
			lemmas, raws = lemmas+" ", raws+" "
		}
		lemmas, raws = lemmas+w.key, raws+w.raw
		for _, s := range []string{raws, lemmas} {
			if g, ok := x.phrases[s]; ok && !(w.fixed && k == 0) && !(x.is("alone", lemmas) && !x.closes(in, i+k+1)) {
				n, group = k+1, g
				break
			}
		}
	}
	return n, group
}

// apart finds "turn the heating off": the particle closes its clause.
func apart(in []item) []item {
	x := english()
	for i := 0; i < len(in); i++ {
		if !x.verbs[in[i].key] || in[i].fixed || in[i].key == "go" || in[i].key == "get" ||
			i > 0 && (in[i-1].key == "'s" || x.is("determiner", in[i-1].raw)) {
			continue
		}
		for j := i + 2; j < len(in) && j <= i+5; j++ {
			if !x.is("particle", in[j].key) && in[j].key != "on" && in[j].key != "in" {
				continue
			}
			if g, ok := x.phrases[in[i].key+" "+in[j].key]; ok && x.closes(in, j+1) {
				in[i].key = g
				in = append(in[:j], in[j+1:]...)
				break
			}
		}
	}
	return in
}

// closes says whether a clause ends before i, or only says when and where.
func (x *lexicon) closes(in []item, i int) bool {
	return i == len(in) || in[i].comma || in[i].class == date || x.is("strict", in[i].key) || x.is("weak", in[i].key)
}

// does says whether a group of words is named by a verb: look after, but not
// waiting list.
func (x *lexicon) does(group string) bool {
	f := strings.Fields(group)
	last := f[len(f)-1]
	return x.verbs[f[0]] && (len(f) == 1 || x.is("particle", last) || x.is("weak", last) || x.is("strict", last) || last == "place" || last == "know" || last == "working")
}
