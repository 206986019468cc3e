package llmtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/percached/percached"
)

// wrongs are the ways in which a slice can be wrong. Each gets a sound slice
// and another chunk's, and says whether it could be applied.
var wrongs = []struct {
	name  string
	spoil func(s, other *percached.Slice) bool
}{
	{"model", func(s, _ *percached.Slice) bool { s.Model += "0"; return true }},
	{"no model", func(s, _ *percached.Slice) bool { s.Model = ""; return true }},
	{"path", func(s, _ *percached.Slice) bool { s.Path[7] ^= 1; return true }},
	{"path of another", func(s, o *percached.Slice) bool { s.Path = o.Path; return true }},
	{"another", func(s, o *percached.Slice) bool { *s = *cloneSlice(o); return true }},
	{"start late", func(s, _ *percached.Slice) bool { s.Start++; return true }},
	{"start early", func(s, _ *percached.Slice) bool { s.Start--; return true }},
	{"start huge", func(s, _ *percached.Slice) bool { s.Start = 1 << 62; return true }},
	{"tokens changed", func(s, _ *percached.Slice) bool { s.Tokens[len(s.Tokens)-1] ^= 1; return true }},
	{"tokens cut", func(s, _ *percached.Slice) bool { s.Tokens = s.Tokens[1:]; return true }},
	{"tokens added", func(s, _ *percached.Slice) bool { s.Tokens = append(s.Tokens, s.Tokens[0]); return true }},
	{"tokens gone", func(s, _ *percached.Slice) bool { s.Tokens = nil; return true }},
	{"pieces gone", func(s, _ *percached.Slice) bool { s.Pieces = nil; return true }},
	{"first piece gone", func(s, _ *percached.Slice) bool { s.Pieces = s.Pieces[1:]; return true }},
	{"last piece gone", func(s, _ *percached.Slice) bool { s.Pieces = s.Pieces[:len(s.Pieces)-1]; return true }},
	{"piece twice", func(s, _ *percached.Slice) bool { s.Pieces = append(s.Pieces, s.Pieces[len(s.Pieces)-1]); return true }},
	{"pieces overlap", func(s, _ *percached.Slice) bool {
		return len(s.Pieces) > 1 && sum(&s.Pieces[1], func(p *percached.Piece) { p.From-- })
	}},
	{"pieces in disorder", func(s, _ *percached.Slice) bool { slices.Reverse(s.Pieces); return len(s.Pieces) > 1 }},
	{"piece beyond the end", tail(func(p *percached.Piece) { p.To++ })},
	{"piece backwards", tail(func(p *percached.Piece) { p.From, p.To = p.To, p.From })},
	{"piece of huge length", tail(func(p *percached.Piece) { p.To = 1 << 62 })},
	{"piece before the beginning", head(func(p *percached.Piece) { p.From = -1 })},
	{"bytes short by one", tail(func(p *percached.Piece) { p.KV = p.KV[:len(p.KV)-1] })},
	{"bytes cut", tail(func(p *percached.Piece) { p.KV = p.KV[:len(p.KV)/2] })},
	{"bytes gone", head(func(p *percached.Piece) { p.KV = nil })},
	{"bytes added", tail(func(p *percached.Piece) { p.KV = append(p.KV, 0) })},
	{"first bit", func(s, _ *percached.Slice) bool { s.Pieces[0].KV[0] ^= 1; return true }},
	{"middle bit", func(s, _ *percached.Slice) bool { kv := s.Pieces[0].KV; kv[len(kv)/2] ^= 16; return true }},
	{"last bit", func(s, _ *percached.Slice) bool {
		kv := s.Pieces[len(s.Pieces)-1].KV
		kv[len(kv)-1] ^= 128
		return true
	}},
	{"checksum", func(s, _ *percached.Slice) bool { s.Pieces[0].Sum++; return true }},
	{"queries not there", func(s, _ *percached.Slice) bool { s.Planes = percached.QKV; return true }},
	{"queries not named", head(func(p *percached.Piece) { p.Q = make([]byte, 64) })},
	{"planes unknown", func(s, _ *percached.Slice) bool { s.Planes = 9; return true }},
}

// wrongQueries are the ways in which queries can be wrong.
var wrongQueries = []struct {
	name  string
	spoil func(s, other *percached.Slice) bool
}{
	{"queries gone", head(func(p *percached.Piece) { p.Q = nil })},
	{"queries cut", tail(func(p *percached.Piece) { p.Q = p.Q[:len(p.Q)-1] })},
	{"queries added", tail(func(p *percached.Piece) { p.Q = append(p.Q, 0) })},
	{"queries changed", func(s, _ *percached.Slice) bool { s.Pieces[0].Q[0] ^= 1; return true }},
	{"queries denied", func(s, _ *percached.Slice) bool { s.Planes = percached.KV; return true }},
}

// sum changes a piece and makes its checksum right again.
func sum(p *percached.Piece, change func(*percached.Piece)) bool {
	change(p)
	p.Sum = p.Checksum()
	return true
}

func head(change func(*percached.Piece)) func(s, _ *percached.Slice) bool {
	return func(s, _ *percached.Slice) bool { return sum(&s.Pieces[0], change) }
}

func tail(change func(*percached.Piece)) func(s, _ *percached.Slice) bool {
	return func(s, _ *percached.Slice) bool { return sum(&s.Pieces[len(s.Pieces)-1], change) }
}

func refuseChecks() []check {
	var all []check
	for _, w := range wrongs {
		all = append(all, check{"refuse/" + w.name, true, func(p *probe) { p.refused(w.spoil, percached.KV) }})
	}
	for _, w := range wrongQueries {
		all = append(all, check{"refuse/" + w.name, true, func(p *probe) { p.refused(w.spoil, percached.QKV) }})
	}
	return all
}

// refused holds that a spoiled slice is refused with its segment and a reason,
// before anything is computed, unchanged, and that the engine goes on as ever.
func (p *probe) refused(spoil func(s, other *percached.Slice) bool, planes percached.Planes) {
	for _, placement := range p.placements() {
		pr := p.ask(placement)
		pr.Planes = planes
		cold := p.generate(pr)
		for _, i := range []int{0, 3} {
			wrong := stored(pr, cold.Slices, 15)
			if !spoil(wrong.Segments[i].Slice, cloneSlice(cold.Slices[2])) {
				continue
			}
			given := clonePrompt(wrong)
			emitted := false
			res, err := p.e.Generate(p.context(), wrong, func(string) error { emitted = true; return nil })
			p.refusal(fmt.Sprintf("Generate, placement %d, segment %d", placement, i), i, res, err)
			if emitted {
				p.fatalf("an answer began on a refused slice")
			}
			res, err = p.e.Prefill(p.context(), wrong)
			p.refusal("Prefill", i, res, err)
			p.untouched(given, wrong)
		}
		p.same("after a refused slice", cold.Result, p.generate(stored(pr, cold.Slices, 5)).Result)
	}
}

func (p *probe) refusal(what string, segment int, res percached.Result, err error) {
	var refused *percached.SliceError
	switch {
	case !errors.As(err, &refused):
		p.fatalf("%s: a wrong slice gave %v, not a SliceError", what, err)
	case refused.Segment != segment:
		p.fatalf("%s: the slice of segment %d was refused: %v", what, refused.Segment, err)
	case refused.Reason == "":
		p.fatalf("%s: the slice was refused without a reason", what)
	case res.Usage.Computed != 0 || res.Text != "":
		p.fatalf("%s: something was computed before the slice was refused: %+v", what, res.Usage)
	}
	for _, s := range res.Slices {
		if s != nil {
			p.fatalf("%s: something was captured before the slice was refused", what)
		}
	}
}
