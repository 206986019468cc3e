package reader

import (
	"path"
	"regexp"
	"strings"
)

// maildirMail is how programs name a mail in a Maildir: the second at which it
// came and more behind a dot, or what is known of it behind ":2,".
var maildirMail = regexp.MustCompile(`^\d{9,}\.|[:;!]2,[A-Za-z]*$`)

// maildirName says of a name alone whether it is that of a mail in a Maildir. Other
// folders may be called so, too: where the file has no ending and another name, its
// content has to tell.
func maildirName(name string) (mail, maybe bool) {
	name = strings.ReplaceAll(name, `\`, "/")
	switch path.Base(path.Dir(name)) {
	case "cur", "new":
		base := path.Base(name)
		return maildirMail.MatchString(base), !strings.Contains(base, ".")
	}
	return false, false
}
