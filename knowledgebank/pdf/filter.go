package pdf

import (
	"bytes"
	"compress/flate"
	"io"
)

// maxFilters is the most filters of one stream.
const maxFilters = 8

// decode runs a stream's filters. From a damaged stream it returns the bytes before the
// damage; for a picture's filter, nothing.
func (f *file) decode(s *stream) []byte {
	data := s.raw
	filters := f.list(s.dict, "Filter", "F")
	parms := f.list(s.dict, "DecodeParms", "DP")
	if f.crypt != nil && s.dict["Type"] != name("XRef") && !f.identity(filters, parms) {
		if !f.budget.spendBytes(len(data)) {
			return nil
		}
		data = f.crypt.stream(s, data)
	}
	if len(filters) > maxFilters || !f.budget.spendBytes(len(data)) {
		return nil
	}
	for i, filter := range filters {
		var parm dict
		if i < len(parms) {
			parm = f.dict(parms[i])
		}
		out := &sink{budget: f.budget}
		switch f.name(filter) {
		case "FlateDecode", "Fl":
			out.inflate(data)
			data = f.unpredict(out.data, parm)
		case "LZWDecode", "LZW":
			out.lzw(data, f.int(parm["EarlyChange"], 1) != 0)
			data = f.unpredict(out.data, parm)
		case "ASCIIHexDecode", "AHx":
			out.asciiHex(data)
			data = out.data
		case "ASCII85Decode", "A85":
			out.ascii85(data)
			data = out.data
		case "RunLengthDecode", "RL":
			out.runLength(data)
			data = out.data
		case "Crypt":
		default:
			return nil
		}
	}
	return data
}

// list returns an entry that is one value or an array of them.
func (f *file) list(d dict, long, short name) array {
	v := f.resolve(d[long])
	if v == nil {
		v = f.resolve(d[short])
	}
	switch v := v.(type) {
	case nil:
		return nil
	case array:
		return v
	default:
		return array{v}
	}
}

// identity reports whether the stream itself asks not to be decrypted.
func (f *file) identity(filters, parms array) bool {
	if len(filters) == 0 || f.name(filters[0]) != "Crypt" {
		return false
	}
	if len(parms) == 0 {
		return true
	}
	n := f.name(f.dict(parms[0])["Name"])
	return n == "" || n == "Identity"
}

// sink collects decoded bytes within the budget.
type sink struct {
	data   []byte
	budget *budget
}

// put adds bytes. It returns false when the budget is spent.
func (s *sink) put(b ...byte) bool {
	if len(s.data)+len(b) > maxStream {
		s.budget.overLimit("a stream of more than %d bytes", maxStream)
		return false
	}
	if !s.budget.spendBytes(len(b)) {
		return false
	}
	s.data = append(s.data, b...)
	return true
}

// inflate decompresses zlib. It ignores header and checksum: damaged files are read as
// far as their bits make sense.
func (s *sink) inflate(data []byte) {
	raw := data
	if len(data) >= 2 && data[0]&0x0f == 8 && (int(data[0])<<8|int(data[1]))%31 == 0 {
		raw = data[2:]
	}
	s.flate(raw)
	if len(s.data) == 0 && len(data) > 2 && len(raw) == len(data) {
		s.flate(data[2:]) // a wrong header
	}
}

func (s *sink) flate(raw []byte) {
	r := flate.NewReader(bytes.NewReader(raw))
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		if !s.put(buf[:n]...) || err != nil {
			return
		}
		if n == 0 && err == io.EOF {
			return
		}
	}
}

// lzw decompresses LZW with codes of 9 to 12 bits, high bits first. early: codes grow
// one entry early, as in TIFF.
func (s *sink) lzw(data []byte, early bool) {
	const clearCode, endCode = 256, 257
	var (
		prefix [4096]uint16
		suffix [4096]byte
		length [4096]uint16
		word   [4096]byte
	)
	shift := 0
	if early {
		shift = 1
	}
	next, width, last := 258, 9, -1
	var acc, bits uint
	for _, c := range data {
		acc, bits = acc<<8|uint(c), bits+8
		if bits < uint(width) {
			continue
		}
		bits -= uint(width)
		code := int(acc >> bits & (1<<width - 1))
		switch {
		case code == clearCode:
			next, width, last = 258, 9, -1
			continue
		case code == endCode, code > next, code == next && last < 0:
			return
		}
		// The word of the code, or the word before with its own first byte.
		from := code
		if code == next {
			from = last
		}
		n := 1
		if from > 257 {
			n = int(length[from])
		}
		at := from
		for i := n - 1; i > 0; i-- {
			word[i], at = suffix[at], int(prefix[at])
		}
		word[0] = byte(at)
		out := word[:n]
		if code == next && n < len(word) {
			out = append(out, word[0])
		}
		if !s.put(out...) {
			return
		}
		if last >= 0 && next < 4096 {
			prefix[next], suffix[next] = uint16(last), word[0]
			length[next] = 2
			if last > 257 {
				length[next] = length[last] + 1
			}
			next++
			if next+shift >= 1<<width && width < 12 {
				width++
			}
		}
		last = code
	}
}

func (s *sink) asciiHex(data []byte) {
	l := lexer{data: data}
	s.put([]byte(l.hex())...)
}

func (s *sink) ascii85(data []byte) {
	data = bytes.TrimPrefix(bytes.TrimLeft(data, " \r\n\t"), []byte("<~"))
	var group uint32
	n := 0
	flush := func(count int) bool {
		b := [4]byte{byte(group >> 24), byte(group >> 16), byte(group >> 8), byte(group)}
		group, n = 0, 0
		return s.put(b[:count]...)
	}
	for _, c := range data {
		switch {
		case c == '~':
			if n > 1 {
				count := n - 1
				for ; n < 5; n++ {
					group = group*85 + 84
				}
				flush(count)
			}
			return
		case c == 'z' && n == 0:
			if !s.put(0, 0, 0, 0) {
				return
			}
		case c >= '!' && c <= 'u':
			group = group*85 + uint32(c-'!')
			if n++; n == 5 && !flush(4) {
				return
			}
		}
	}
	if n > 1 {
		count := n - 1
		for ; n < 5; n++ {
			group = group*85 + 84
		}
		flush(count)
	}
}

func (s *sink) runLength(data []byte) {
	for len(data) > 1 {
		n := int(data[0])
		data = data[1:]
		switch {
		case n == 128:
			return
		case n < 128:
			n = min(n+1, len(data))
			if !s.put(data[:n]...) {
				return
			}
			data = data[n:]
		default:
			if !s.put(bytes.Repeat(data[:1], 257-n)...) {
				return
			}
			data = data[1:]
		}
	}
}

// unpredict reverses the prediction done before Flate and LZW, in place.
func (f *file) unpredict(data []byte, parm dict) []byte {
	kind := f.int(parm["Predictor"], 1)
	if kind < 2 {
		return data
	}
	colors := f.int(parm["Colors"], 1)
	bits := f.int(parm["BitsPerComponent"], 8)
	columns := f.int(parm["Columns"], 1)
	if colors < 1 || colors > 64 || bits < 1 || bits > 16 || columns < 1 || columns > 1<<24 {
		return nil
	}
	row := (columns*colors*bits + 7) / 8
	step := max(1, colors*bits/8)
	if kind == 2 {
		return unTIFF(data, row, step, bits)
	}
	return unPNG(data, row, step)
}

// unTIFF adds to each byte the byte of the pixel to the left. Only pictures have
// components of other than 8 bits.
func unTIFF(data []byte, row, step, bits int) []byte {
	if bits != 8 {
		return data
	}
	for from := 0; from < len(data); from += row {
		line := data[from:min(from+row, len(data))]
		for i := step; i < len(line); i++ {
			line[i] += line[i-step]
		}
	}
	return data
}

// unPNG reverses the five filters of PNG. Each row names its own.
func unPNG(data []byte, row, step int) []byte {
	out := data[:0]
	var above []byte
	for len(data) > 1 {
		kind := data[0]
		line := data[1:min(1+row, len(data))]
		data = data[1+len(line):]
		for i := range line {
			var left, up, corner byte
			if i >= step {
				left = line[i-step]
			}
			if i < len(above) {
				up = above[i]
				if i >= step {
					corner = above[i-step]
				}
			}
			switch kind {
			case 1:
				line[i] += left
			case 2:
				line[i] += up
			case 3:
				line[i] += byte((int(left) + int(up)) / 2)
			case 4:
				line[i] += paeth(left, up, corner)
			}
		}
		at := len(out)
		out = append(out, line...)
		above = out[at:]
	}
	return out
}

// paeth is the neighbour nearest to left + up - corner.
func paeth(left, up, corner byte) byte {
	p := int(left) + int(up) - int(corner)
	distance := func(c byte) int { return max(p-int(c), int(c)-p) }
	a, b, c := distance(left), distance(up), distance(corner)
	switch {
	case a <= b && a <= c:
		return left
	case b <= c:
		return up
	}
	return corner
}
