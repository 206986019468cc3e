package percached

// Ask builds the segments of a prompt: the instructions, each chunk's text, the question.
func (f ChatFormat) Ask(instructions string, chunks []string, question string) []Segment {
	segs := make([]Segment, 0, len(chunks)+2)
	segs = append(segs, Segment{Kind: KindSystem, Texts: texts(f.System, instructions, "")})
	for _, c := range chunks {
		segs = append(segs, Segment{Kind: KindChunk, Texts: []Text{{Text: c}}})
	}
	return append(segs, Segment{Kind: KindQuestion, Texts: texts(f.Question, question, f.Answer)})
}

// Turn builds the segments of a prompt without instructions and chunks.
func (f ChatFormat) Turn(question string) []Segment {
	return []Segment{{Kind: KindQuestion, Texts: texts(f.Lone, question, f.Answer)}}
}

func texts(before, text, after string) []Text {
	var ts []Text
	for _, t := range []Text{{before, true}, {text, false}, {after, true}} {
		if t.Text != "" {
			ts = append(ts, t)
		}
	}
	return ts
}
