package pdf

// The objects of a PDF are Go values: nil, bool, int, float64, and these.
type (
	name  string
	str   string // a string's bytes, decrypted
	array []any
	dict  map[name]any
	ref   struct{ num, gen int }
	word  string // an operator or keyword, or a delimiter that stands alone
)

// stream is a dictionary with bytes behind it, still encoded.
type stream struct {
	dict dict
	raw  []byte
	id   ref
}

// number gives an int or float64 as a float64, else 0.
func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// The getters below look an entry up, follow references, and give the zero
// value for what is of another type.

func (f *file) dict(v any) dict {
	switch v := f.resolve(v).(type) {
	case dict:
		return v
	case *stream:
		return v.dict
	}
	return nil
}

func (f *file) array(v any) array {
	a, _ := f.resolve(v).(array)
	return a
}

func (f *file) name(v any) name {
	n, _ := f.resolve(v).(name)
	return n
}

func (f *file) stream(v any) *stream {
	s, _ := f.resolve(v).(*stream)
	return s
}

func (f *file) str(v any) str {
	s, _ := f.resolve(v).(str)
	return s
}

func (f *file) number(v any) float64 { return number(f.resolve(v)) }

// int gives a whole number, or other where there is none.
func (f *file) int(v any, other int) int {
	switch v := f.resolve(v).(type) {
	case int:
		return v
	case float64:
		if v > -1e9 && v < 1e9 {
			return int(v)
		}
	}
	return other
}
