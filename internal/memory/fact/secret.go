package fact

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

var (
	namedSecret = regexp.MustCompile(`(?i)\b(pass\s?words?|pass\s?codes?|pass\s?phrases?|pwd|pin|pin[- ]?(code|number)|cvv|cvc|security code|(door|gate|alarm|access|unlock|entry) codes?|otp|one[- ]time (code|password)|api[- ]?keys?|access[- ]?(keys?|tokens?)|secret([- ]?keys?)?|private[- ]?keys?|seed phrase|recovery (phrase|codes?)|credentials?|log-?in details|social security|ssn|(account|routing|passport|card) numbers?|(credit|debit|bank) cards?)\b`)
	numbered    = regexp.MustCompile(`\d(?:[ .-]?\d){11,18}`)
	social      = regexp.MustCompile(`\b\d{3}[- ]\d{2}[- ]\d{4}\b`)
	account     = regexp.MustCompile(`(?i)\b[a-z]{2}\d{2}(?: ?[a-z0-9]){11,30}\b`)
	keyHead     = regexp.MustCompile(`(?i)-----BEGIN|\b(ssh-(rsa|ed25519|dss)|AKIA[0-9A-Z]{12,}|gh[pousr]_\w{16,}|github_pat_\w+|glpat-\S+|xox[abprs]-\S+|sk-\S{12,}|sk_(live|test)_\w+|AIza\S{20,}|eyJ[\w-]{8,}\.[\w-]+|bearer \S{12,})`)
)

// Secret names the kind of secret that a text seems to contain; empty: none. It also takes
// text that only speaks of a password or PIN for a secret: what is not stored cannot leak.
func Secret(text string) string {
	switch {
	case keyHead.MatchString(text):
		return "a key or token"
	case social.MatchString(text):
		return "a social security number"
	case namedSecret.MatchString(text):
		return "a password, PIN or other secret"
	}
	for _, n := range numbered.FindAllString(text, -1) {
		if isCard(n) {
			return "a card number"
		}
	}
	for _, n := range account.FindAllString(text, -1) {
		// The match may run on into the next words, so each shorter one counts too.
		for n = strings.ReplaceAll(n, " ", ""); len(n) >= 15; n = n[:len(n)-1] {
			if isIBAN(n) {
				return "an account number"
			}
		}
	}
	for _, w := range strings.Fields(text) {
		if isRandom(strings.Trim(w, `.,;:!?"'()<>[]{}`)) {
			return "a key or token"
		}
	}
	return ""
}

// isCard checks the Luhn sum of 13 to 19 digits.
func isCard(s string) bool {
	sum, n := 0, 0
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		d := int(s[i] - '0')
		if n%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		n++
	}
	return n >= 13 && n <= 19 && sum%10 == 0
}

// isIBAN checks the sum of an account number without spaces.
func isIBAN(s string) bool {
	rest := 0
	for _, c := range strings.ToUpper(s[4:] + s[:4]) {
		switch {
		case unicode.IsDigit(c):
			rest = (rest*10 + int(c-'0')) % 97
		default:
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}

// isRandom says that a word looks generated: 16 or more characters that mix letters and
// digits, or upper and lower case without pattern, and hardly repeat.
func isRandom(w string) bool {
	if len(w) < 16 || strings.Contains(w, "://") || strings.Contains(w, "@") || strings.HasPrefix(w, "www.") {
		return false
	}
	count := map[rune]float64{}
	digits, letters, changes := 0, 0, 0
	var before rune
	for _, r := range w {
		count[r]++
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
		if unicode.IsUpper(r) && unicode.IsLower(before) || unicode.IsDigit(r) != unicode.IsDigit(before) {
			changes++
		}
		before = r
	}
	entropy, n := 0.0, float64(len([]rune(w)))
	for _, c := range count {
		entropy -= c / n * math.Log2(c/n)
	}
	return entropy > 3 && changes >= 4 && letters > 0 && digits+changes >= 5
}
