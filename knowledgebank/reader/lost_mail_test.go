package reader

import (
	"strings"
	"testing"
)

// Text that only looks like a quote, a signature or a header stays; real ones are
// dropped.
func TestNothingLostInMail(t *testing.T) {
	const (
		first = "From: Ana Ruiz <ana@example.com>\nSubject: Pump\nMessage-ID: <a@example.com>\n"
		reply = "From: Ana Ruiz <ana@example.com>\nSubject: Re: Pump\nMessage-ID: <a@example.com>\n"
		forms = "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n"
		html  = "\n--b\nContent-Type: text/html\n\n"
	)
	for name, tt := range map[string]struct{ in, kept, gone string }{
		"marked lines of a mail that answers none": {
			first + "\nPlease run these:\n\n> select rows;\n> commit;\n\nIn this order.\n", "run|select rows;|commit;|order", "",
		},
		"a quote without an attribution": {first + "\n> How many?\n\nForty.\n", "Forty", "How many"},
		"a quote in a mail without Re":   {first + "\nForty.\n\nBen wrote:\n> How many?\n", "Forty", "How many|wrote"},
		"somebody is cited": {
			reply + "\nHello,\n\nOn 4 March our chairman wrote:\n\nThe harbour opens.\n\nI think so too.\n", "chairman|harbour|too", "",
		},
		"somebody is cited with the year": {
			first + "\nHello,\n\nOn 4 March 2024 our chairman wrote:\n\nThe harbour opens.\n", "chairman|harbour", "",
		},
		"an unmarked quote": {reply + "\nYes.\n\nOn 4 March 2025, Ben Ode wrote:\n\nIs it open?\n", "Yes", "wrote|open"},
		"a route": {
			first + "\nThe trip:\n\nFrom: Hamburg\nTo: Bremen\nDate: 4 March\n\nPlease book it.\n", "Hamburg|Bremen|March|book", "",
		},
		"a header without a subject": {
			reply + "\nYes.\n\nFrom: Ben <ben@example.com>\nSent: Monday\nTo: Ana\n\nIs it open?\n", "Yes", "Monday|open",
		},
		"answers between unmarked lines": {
			reply + "\nMy answers are inline.\n\nFrom: Ben\nSent: Monday\nSubject: Pump\n\nIs it open?\n[Ana] At nine.\n", "inline|open|At nine", "",
		},
		"a table below dashes":   {first + "\nThe prices\n\nItem    Price\n--\nOar    12\nRudder    30\n", "Oar|30", ""},
		"dashes between parts":   {first + "\nPumps.\n\n--\n\nGates.\n\n--\n\nLamps.\n", "Pumps|Gates|Lamps", ""},
		"prose below dashes":     {first + "\nPumps.\n\n--\nThe gate of the north side is closed until the first of March.\n", "Pumps|gate", ""},
		"a signature below":      {first + "\nPumps.\n\n--\nAna Ruiz\nHead of Rooms\n", "Pumps", "Ana Ruiz|Head"},
		"a postscript":           {first + "\nPumps.\n\n-- \nAna Ruiz\n\nPS: The key is in the shed.\n", "Pumps|PS: The key", "Ana Ruiz"},
		"a list of telephones":   {first + "\nThe numbers:\n\nHarbour\nPhone: 555-010-0199\nFire: 555-010-0198\nGas: 555-010-0197\nDoctor: 555-010-0196\n", "0199|0198|0197|0196", ""},
		"telephones of many":     {first + "\nAs you asked.\n\nPlumbers\nJo 555-010-0199\nAl 555-010-0198\nMo 555-010-0197\n", "0199|0197", ""},
		"many telephones of one": {first + "\nAs you asked.\n\nAna Ruiz\n555-010-0199 (phone)\n555-010-0198 (fax)\nCell 555-010-0197\n555-010-0196 (home)\n555-010-0195 (pager)\n", "Ana Ruiz", "0199|0195"},
		"what was sent":          {first + "\nThe log:\n\nSent from my phone at nine\nSent by the courier at ten\nGet Outlook for all of them\n", "at nine|at ten|Outlook", ""},
		"a telephone's line":     {first + "\nLate.\n\nSent from my iPhone\n", "Late", "iPhone"},
		"signs of its own":       {first + "\nSet level=20 now\nand a=BE b=CA\n", "level=20|a=BE b=CA", ""},
		"a page that is named":   {first + "\nIt begins with <html> and then <head, says Ana.\nThen comes a <x and more.\n", "begins with <html> and then <head, says|<x and more", ""},
		"tags that are named":    {first + "\nUse <p> and <div> or <br>, <td>, <li>, <span> here.\n", "<p> and <div> or <br>, <td>", ""},
		"plain in spite of":      {first + "Content-Transfer-Encoding: base64\n\nThe pump is not encoded, whatever they say.\n", "The pump is not encoded", ""},
		"plain behind base64":    {first + "Content-Transfer-Encoding: base64\n\nVGhlIHB1bXAgcnVucw==\n\nThe list is read by=2 all of us here.\n", "The pump runs|The list is read", ""},
		"flowed, and no spaces":  {first + "Content-Type: text/plain; format=flowed; delsp=yes\n\nThe  \npump https://example.com/a/ \nb/c\n", "The pump|/a/b/c", ""},
		"a note that there is HTML": {
			first + forms + "Your e-mail client does not show HTML messages." + html + "<p>Meet at nine in the hall.</p>\n--b--\n", "at nine", "client",
		},
		"a note in German": {
			first + forms + "Ihr Programm kann diese Nachricht leider nicht anzeigen." + html + "<p>Um neun in der Halle am Hafen.</p>\n--b--\n", "Um neun", "Programm",
		},
		"plain text about HTML": {first + forms + "The server does not support it.\n-- \nAna" + html + "<p>The server does not support it.</p>\n--b--\n", "server", "Ana"},
		"plain text that leaves most out": {
			first + forms + strings.Repeat("We thank you for the order and send it soon. ", 5) + html +
				"<p>We thank you for the order and send it soon.</p><p>two oars, one rudder, nine lamps, four chairs, red paint, blue rope, " +
				"green buoys, seven planks, eight bolts, twelve hooks, brass screws, white sails</p>\n--b--\n", "rudder|white sails", "",
		},
		"a page behind its image": {
			first + "Content-Type: multipart/related; boundary=b\n\n--b\nContent-Type: image/png\nContent-ID: <x>\n\nx\n--b\n" +
				"Content-Type: text/html\n\n<p>The pump runs.</p>\n--b--\n", "The pump runs", "",
		},
		"a page that is attached": {
			first + "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nSee this.\n--b\nContent-Disposition: attachment\n" +
				"Content-Type: text/html\n\n<p>The pump runs.</p>\n--b--\n", "See this|The pump runs", "<p>",
		},
	} {
		t.Run(name, func(t *testing.T) { holds(t, "a.eml", tt.in, tt.kept, tt.gone) })
	}
}

// holds reads a file and looks for words, which are separated by "|".
func holds(t *testing.T, name, in, kept, gone string) {
	t.Helper()
	_, got, _ := strings.Cut(story(t, newReader(t, Default()), name, []byte(in)), "format:")
	for _, w := range strings.Split(kept, "|") {
		if !strings.Contains(got, w) {
			t.Errorf("%q is lost:\n%s", w, got)
		}
	}
	for _, w := range strings.Split(gone, "|") {
		if w != "" && strings.Contains(got, w) {
			t.Errorf("%q is there:\n%s", w, got)
		}
	}
}
