package knowledgebank

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// piece becomes a chunk.
type piece struct {
	body  string
	place string // the part of the document, and the minute of a transcript
	words int
}

// cut joins units into pieces of about target words. Each place between two units has a
// price as a cut, which depends on what it separates and on a number drawn from the
// text around it. The cheapest place far around is always a cut; between two such cuts,
// cut takes the cheapest way. Both depend on nearby text only, so an edit changes the
// pieces around it and no others. After ctx ends, the result is useless.
func cut(ctx context.Context, units []unit, target int) []piece {
	units = shorten(ctx, units, 2*target*13/10)
	var out []piece
	for from := 0; from < len(units) && ctx.Err() == nil; {
		to := from + 1
		for to < len(units) && units[to].by.in() == units[from].by.in() {
			to++
		}
		out = append(out, cutPart(ctx, units[from:to], target)...)
		from = to
	}
	return out
}

// cutPart cuts one part of a document. No piece has text of two parts.
func cutPart(ctx context.Context, units []unit, target int) []piece {
	var out []piece
	from := 0
	for _, to := range cuts(ctx, units, 2*target) {
		p := piece{body: render(units[from:to]), place: units[from].by.place()}
		n := 0
		for _, u := range units[from:to] {
			n += int(u.size)
		}
		p.words = (n + 1) / 2
		out = append(out, p)
		from = to
	}
	return out
}

// lookEvery is how many units, or lines, are processed between two checks of the
// context.
const lookEvery = 512

// ended reports, once every lookEvery parts, whether the context has ended.
func ended(ctx context.Context, i int) bool { return i%lookEvery == 0 && ctx.Err() != nil }

// cuts returns the ends of the pieces. Sizes are in half words.
func cuts(ctx context.Context, units []unit, target int) []int {
	n := len(units)
	prices := make([]int, n+1) // of a cut before the i-th unit
	at := make([]int, n+1)     // size of all units before it
	for i, u := range units {
		if ended(ctx, i) {
			return nil
		}
		at[i+1] = at[i] + int(u.size)
		if i > 0 {
			prices[i] = int(units[i-1].price) + chance(units, i)
		}
	}
	prices[0], prices[n] = -1, -1 // the ends of the text
	var ends []int
	from := 0
	for i := 1; i <= n; i++ {
		if ended(ctx, i) {
			return nil
		}
		if i < n && !cheapestAround(prices, at, i, target*7/10) {
			continue
		}
		for _, end := range cheapest(ctx, units[from:i], prices[from:i], target) {
			ends = append(ends, from+end)
		}
		from = i
	}
	return ends
}

// cheapestAround reports whether no cut within reach is cheaper than the i-th. Of equal
// ones, the first is the cheapest.
func cheapestAround(prices, at []int, i, reach int) bool {
	for j := i - 1; j >= 0 && at[i]-at[j] < reach; j-- {
		if prices[j] <= prices[i] {
			return false
		}
	}
	for j := i + 1; j < len(at) && at[j]-at[i] < reach; j++ {
		if prices[j] < prices[i] {
			return false
		}
	}
	return true
}

// cheapest returns the ends of pieces for which sizes and cuts cost least.
func cheapest(ctx context.Context, units []unit, prices []int, target int) []int {
	n := len(units)
	most := target * 16 / 10
	cost := make([]int, n+1) // of the first units
	from := make([]int, n+1) // where their last piece begins
	for to := 1; to <= n; to++ {
		if ended(ctx, to) {
			return nil
		}
		size := 0
		cost[to] = math.MaxInt
		for i := to - 1; i >= 0; i-- {
			size += int(units[i].size)
			if size > most && i < to-1 {
				break
			}
			if c := cost[i] + misfit(size, target); c < cost[to] {
				cost[to], from[to] = c, i
			}
		}
		if to < n {
			cost[to] += prices[to]
		}
	}
	var ends []int
	for to := n; to > 0; to = from[to] {
		ends = append(ends, to)
	}
	slices.Reverse(ends)
	return ends
}

// misfit is the price of a piece's size: 400 at 30 % off, and steeply more beyond.
func misfit(size, target int) int {
	off := max(size-target, target-size) * 100 / target
	return off*off*4/9 + max(0, off-30)*40
}

// chance draws a number below 1024 from the text around a cut.
func chance(units []unit, at int) int {
	sum := sha256.Sum256([]byte(units[at-1].text + "\n" + units[at].text))
	return int(binary.BigEndian.Uint16(sum[:]) >> 6)
}

// render writes units as the body of a chunk, each speaker on a line.
func render(units []unit) string {
	var b strings.Builder
	for i, u := range units {
		if i > 0 {
			b.WriteString(u.joint)
		}
		if u.by != nil && u.by.speaker != "" && (u.turn || i == 0) {
			b.WriteString(u.by.speaker)
			b.WriteString(": ")
		}
		b.WriteString(u.text)
	}
	return b.String()
}

// maxToken is how many characters without a space stay together.
const maxToken = 240

// shorten splits units that are too long for one piece at words.
func shorten(ctx context.Context, units []unit, most int) []unit {
	n := 0
	for _, u := range units {
		if int(u.size) > most {
			n += strings.Count(u.text, " ") + 1
			for _, r := range u.text {
				if isWide(r) {
					n++
				}
			}
		}
	}
	if n == 0 {
		return units
	}
	out := make([]unit, 0, len(units)+n)
	for i, u := range units {
		if ended(ctx, i) {
			return nil
		}
		if int(u.size) <= most {
			out = append(out, u)
			continue
		}
		from := len(out)
		if out = words(ctx, out, u.text); len(out) == from { // ctx has ended
			return nil
		}
		for i := range out[from:] {
			out[from+i].by = u.by
		}
		out[from].joint, out[from].turn = u.joint, u.turn
		out[len(out)-1].price = u.price
	}
	return out
}

// words appends the words of a sentence to out. Wide characters are words.
func words(ctx context.Context, out []unit, s string) []unit {
	joint := ""
	for part := range strings.SplitSeq(s, " ") {
		for part != "" {
			if ended(ctx, len(out)) {
				return out
			}
			n := token(part)
			u := unit{text: part[:n], joint: joint, price: wordEnd}
			r, _ := utf8.DecodeLastRuneInString(u.text)
			switch {
			case strings.ContainsRune(",;:，、；：", r):
				u.price = clauseEnd
			case n < len(part) && !isWide(r) && !startsWide(part[n:]):
				u.price = tokenEnd
			}
			u.size = int32(size(u.text))
			out = append(out, u)
			part, joint = part[n:], ""
		}
		joint = " "
	}
	return out
}

func startsWide(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isWide(r)
}

// token is the length of the first part of a word that stays together.
func token(s string) int {
	n := 0
	for i, r := range s {
		if n == maxToken {
			return i
		}
		if isWide(r) {
			if i == 0 {
				return utf8.RuneLen(r)
			}
			return i
		}
		n++
	}
	return len(s)
}
