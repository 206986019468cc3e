package pdf

import "math"

// matrix is [a b c d e f]: x' = a·x + c·y + e, y' = b·x + d·y + f.
type matrix [6]float64

func identity() matrix { return matrix{1, 0, 0, 1, 0, 0} }

// times is m followed by n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// move is m behind a shift.
func (m matrix) move(x, y float64) matrix {
	m[4], m[5] = x*m[0]+y*m[2]+m[4], x*m[1]+y*m[3]+m[5]
	return m
}

// finite says whether numbers can be reckoned with.
func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.Abs(v) > 1e12 {
			return false
		}
	}
	return true
}

// rect is an upright rectangle.
type rect struct{ left, bottom, right, top float64 }

func (r rect) holds(x, y float64) bool {
	return x >= r.left && x <= r.right && y >= r.bottom && y <= r.top
}
