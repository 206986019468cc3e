package pdf

// unpredict undoes the prediction that stands before Flate and LZW. It works
// in place.
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

// unTIFF adds to each byte the one of the pixel to the left. Components of
// other than 8 bits occur in pictures only.
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

// unPNG undoes the five filters of PNG, one named before each row.
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
