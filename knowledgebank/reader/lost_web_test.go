package reader

import "testing"

// Text that a page shows stays, however it is written; hidden text is dropped.
func TestNothingLostInPages(t *testing.T) {
	for name, tt := range map[string]struct{ in, kept, gone string }{
		"letters of no size around others": {
			`<table style="font-size:0"><tr><td><div style="font-size:13px">Tides</div></td><td>gap</td></tr></table><p>Lamps`, "Tides|Lamps", "gap",
		},
		"seen in what is not":   {`<div style="visibility:hidden">gap<b style="visibility:visible">Tides</b></div><p>Lamps`, "Tides|Lamps", "gap"},
		"faded in":              {`<div style="opacity:0;transform:translateY(20px)">Tides</div><div style="max-height:0">Gates</div><p>Lamps`, "Tides|Gates|Lamps", ""},
		"found by a search":     {`<div hidden="until-found">Tides</div><div hidden>gap</div><p>Lamps`, "Tides|Lamps", "gap"},
		"hidden in one program": {`<a href=x style="mso-hide:all">Tides</a><p>Lamps`, "Tides|Lamps", ""},
		"elements that end where they begin": {
			`<title/><script src="x.js"/><style/><p>Tides</p><textarea/><svg/><iframe src="x"/><select/><noscript/><div hidden/><p>Lamps</p>`, "Tides|Lamps", "",
		},
		"choices without an end":   {`<p>Lamps</p><select><option>One<p>Tides</p>`, "Tides|Lamps", "One"},
		"a drawing without an end": {`<p>Lamps</p><svg><path d="M0"><text>gap</text><p>Tides</p>`, "Tides|Lamps", "gap"},
		"a field of text":          {`<p>Lamps</p><textarea>Tides &amp; gates</textarea>`, "Lamps|Tides & gates", ""},
		"links in a map":           {`<p>Lamps</p><map><area alt=x><p>Tides</p></map>`, "Lamps|Tides", ""},
		"a shadow":                 {`<template shadowrootmode="open"><p>Tides</p></template><template>gap</template><p>Lamps`, "Tides|Lamps", "gap"},
		"raw characters":           {`<p>Lamps <![CDATA[and Tides a < b]]> run`, "Lamps and Tides a < b run", ""},
		"less than":                {`<p>if a<b holds then c, and x<y too</p><p>3<4 <b>Lamps</b></p>`, "a<b holds then c, and x<y too|3<4 Lamps", ""},
		"addresses in angles":      {`<p>Ana <ana@example.com>, <https://example.com/tides></p>`, "<ana@example.com>|<https://example.com/tides>", ""},
		"tags without an end":      {`<p>Lamps<br<br>Tides<td nowrap <b>Gates</b>`, "Lamps|Tides|Gates", "nowrap"},
		"only without scripts":     {`<script>x()</script><noscript><p>Tides</p></noscript>`, "Tides", "x()"},
		"scripts and text":         {`<noscript>Please turn scripts on.</noscript><p>Tides</p>`, "Tides", "Please"},
		"only without frames":      {`<frameset><frame src=a><noframes><body><p>Tides</p></body></noframes></frameset>`, "Tides", "<p>"},
		"only an image":            {`<p><a href=x><img src=y alt="High tide at 14:20"></a>`, "High tide at 14:20", ""},
		"numbers that go on":       {`<ol start=3><li>Tides<li value=9>Lamps<li>Gates</ol>`, "3. Tides|9. Lamps|10. Gates", ""},
		"cells without a row":      {`<table><td>Tides</td><td>Lamps</td></table>`, "Tides\nLamps", ""},
		"buttons":                  {`<button>Tides</button><button>Lamps</button>now</br>Gates`, "Tides Lamps now\nGates", ""},
		"titles of drawings":       {`<svg><title>gap</title></svg><h1>Tides</h1>`, "Tides", "gap"},
	} {
		t.Run(name, func(t *testing.T) { holds(t, "a.html", "<!DOCTYPE html><html><body>"+tt.in, tt.kept, tt.gone) })
	}
}

// The same in HTML mail.
func TestNothingLostInHTMLMail(t *testing.T) {
	const head = "From: Ana Ruiz <ana@example.com>\nSubject: Pump\nMessage-ID: <a@example.com>\nContent-Type: text/html\n\n"
	for name, tt := range map[string]struct{ in, kept, gone string }{
		"a layout of no size": {
			`<div style="display:none;font-size:1px">gap</div><table><tr><td style="direction:ltr;font-size:0px;padding:20px 0">` +
				`<div style="font-size:0px;text-align:left"><table><tr><td style="font-size:0px"><div style="font-family:Arial;font-size:13px;">Tides</div></td></tr></table></div></td></tr></table>`, "Tides", "gap",
		},
		"a button":                {`<p>Lamps</p><!--[if mso]><center>gap</center><![endif]--><a style="color:#fff;mso-hide:all;">Tides</a>`, "Lamps|Tides", "gap"},
		"a preview":               {`<div style="max-height:0;overflow:hidden">gap</div><div style="opacity:0">gap</div><p>Lamps</p>`, "Lamps", "gap"},
		"without scripts":         {`<p>Lamps</p><noscript>Tides</noscript>`, "Lamps|Tides", ""},
		"nothing but a signature": {`<div class="gmail_signature"><div>The key is in the shed.</div></div>`, "The key is in the shed", ""},
		"a signature":             {`<p>Lamps</p><div class="gmail_signature">Ana Ruiz</div>`, "Lamps", "Ana Ruiz\n"},
		"a saying":                {`<p>Lamps</p><blockquote class="wp-block-quote"><p>Tides</p></blockquote>`, "Lamps|Tides", ""},
		"an answer":               {`<p>Lamps</p><blockquote class="gmail_quote"><p>gap</p></blockquote>`, "Lamps", "gap"},
	} {
		t.Run(name, func(t *testing.T) { holds(t, "a.eml", head+tt.in, tt.kept, tt.gone) })
	}
}
