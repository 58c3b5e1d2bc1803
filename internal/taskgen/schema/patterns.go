package schema

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"taskkit.dev/internal/taskgen/model"
)

// Patterns are written for what Go and ECMA-262 with its u flag understand
// alike: no \s and no dot, which differ between them.
const (
	hexUUID     = `[0-9a-fA-F]`
	uuidPattern = `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`
	zeroUUID    = `0{8}-0{4}-0{4}-0{4}-0{12}`

	date    = `[0-9]{4}-[0-9]{2}-[0-9]{2}`
	seconds = `:[0-5][0-9]:[0-5][0-9]`
	zone    = `(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])`

	// timePattern is RFC 3339 but for the range of days. Package time reads more:
	// an hour of one digit, a comma for the point, and sixty minutes of a zone.
	timePattern = `^` + date + `T(?:[01][0-9]|2[0-3])` + seconds + `(?:\.[0-9]+)?` + zone + `$`
	otherTime   = `^` + date + `T(?:[0-9]` + seconds + `(?:[.,][0-9]+)?` + anyZone +
		`|[0-9]{2}` + seconds + `,[0-9]+` + anyZone +
		`|[0-9]{2}` + seconds + `(?:[.,][0-9]+)?[+-][0-9]{2}:60)$`
	anyZone  = `(?:Z|[+-][0-9]{2}:[0-9]{2})`
	zeroTime = `^0001-01-01T0?0:00:00(?:[.,]0+)?Z$`

	// base64 may be broken into lines anywhere.
	base64Digit   = `[A-Za-z0-9+/][\r\n]*`
	base64Pattern = `^[\r\n]*(?:(?:` + base64Digit + `){4})*` +
		`(?:(?:` + base64Digit + `){2}(?:=[\r\n]*){2}|(?:` + base64Digit + `){3}=[\r\n]*)?$`
)

// otherUUID returns a pattern of the forms in which UUIDs are read besides their
// own: with urn:uuid: before, without dashes, and with any two characters around.
func otherUUID(digit string) string {
	dashed := digit + `{8}-` + digit + `{4}-` + digit + `{4}-` + digit + `{4}-` + digit + `{12}`
	return uuidAround(dashed) + `|` + digit + `{32}`
}

func uuidAround(dashed string) string {
	return `[uU][rR][nN]:[uU][uU][iI][dD]:` + dashed + `|[\x00-\x7F]` + dashed + `[\x00-\x7F]`
}

// patterns are rules of strings that validator checks by a regular expression,
// or that one can stand for.
var patterns = map[string]string{
	"alpha": `^[a-zA-Z]+$`, "alphaspace": `^[a-zA-Z ]+$`,
	"alphanum": `^[a-zA-Z0-9]+$`, "alphanumspace": `^[a-zA-Z0-9 ]+$`,
	"alphaunicode": `^\p{L}+$`, "alphanumunicode": `^[\p{L}\p{N}]+$`,
	"numeric": `^[-+]?[0-9]+(?:\.[0-9]+)?$`, "number": `^[0-9]+$`,
	"hexadecimal": `^(?:0[xX])?[0-9a-fA-F]+$`,
	"hexcolor":    `^#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$`,
	"e164":        `^\+?[1-9][0-9]{7,14}$`,
	"latitude":    `^[-+]?(?:[1-8]?[0-9](?:\.[0-9]+)?|90(?:\.0+)?)$`,
	"longitude":   `^[-+]?(?:180(?:\.0+)?|(?:1[0-7][0-9]|[1-9]?[0-9])(?:\.[0-9]+)?)$`,
	"ascii":       `^[\x00-\x7F]*$`, "printascii": `^[\x20-\x7E]*$`, "multibyte": `^$|[^\x00-\x7F]`,

	"uuid":  uuidPattern,
	"uuid3": `^[0-9a-f]{8}-[0-9a-f]{4}-3[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`,
	"uuid4": `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
	"uuid5": `^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
	"uuid7": `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,

	"uuid_rfc4122":  uuidPattern,
	"uuid3_rfc4122": `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-3[0-9a-fA-F]{3}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`,
	"uuid4_rfc4122": `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$`,
	"uuid5_rfc4122": `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-5[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$`,
	// Letters of any case, which for k and s is three.
	"ulid": "^[0-7][A-HJKMNP-TV-Za-hjkmnp-tv-z0-9\u017f\u212a]{25}$",

	"md4": `^[0-9a-f]{32}$`, "md5": `^[0-9a-f]{32}$`, "ripemd128": `^[0-9a-f]{32}$`, "tiger128": `^[0-9a-f]{32}$`,
	"ripemd160": `^[0-9a-f]{40}$`, "tiger160": `^[0-9a-f]{40}$`, "tiger192": `^[0-9a-f]{48}$`,
	"sha256": `^[0-9a-f]{64}$`, "sha384": `^[0-9a-f]{96}$`, "sha512": `^[0-9a-f]{128}$`,
	"base32":       `^(?:[A-Z2-7]{8})*(?:[A-Z2-7]{2}={6}|[A-Z2-7]{4}={4}|[A-Z2-7]{5}={3}|[A-Z2-7]{7}=|[A-Z2-7]{8})$`,
	"base64":       `^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$`,
	"base64url":    `^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=|[A-Za-z0-9_-]{4})$`,
	"base64rawurl": `^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,4})$`,
	"jwt":          `^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$`,
	"mongodb":      `^[a-f0-9]{24}$`,
	"eth_addr":     `^0x[0-9a-fA-F]{40}$`,
	"semver": `^(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)` +
		`(?:-(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
		`(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$`,
	"cve":               `^CVE-(?:1999|2[0-9]{3})-(?:0[^0][0-9]{2}|0[0-9][^0][0-9]|0[0-9]{2}[^0]|[1-9][0-9]{3,})$`,
	"ein":               `^[0-9]{2}-[0-9]{7}$`,
	"bic":               `^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$`,
	"bic_iso_9362_2014": `^[A-Za-z]{6}[A-Za-z0-9]{2}(?:[A-Za-z0-9]{3})?$`,

	"hostname":         `^[a-zA-Z](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`,
	"hostname_rfc1123": `^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`,
	"hostname_label":   `^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`,

	"html":         `</?[a-zA-Z]+[^\n]*?>`,
	"html_encoded": `&#x?[0-9a-fA-F]{2}|&gt|&lt|&quot|&amp`,
	"url_encoded":  `^(?:[^%]|%[0-9A-Fa-f]{2})*$`,

	// These hold of all that validator takes, and of more.
	"email":     `^[^\x00]+@[^@]+\.[^@]+$`,
	"url":       "^[A-Za-z\u212a][A-Za-z0-9+.\u212a-]*:[^\\x00]+$",
	"http_url":  `^[hH][tT][tT][pP][sS]?://[^/?#]`,
	"https_url": `^[hH][tT][tT][pP][sS]://[^/?#]`,
	"origin":    `^[hH][tT][tT][pP][sS]?://[^/?#]+$`,
	"uri":       `^[^#]`,
	"lowercase": `^[^A-Z]+$`,
	"uppercase": `^[^a-z]+$`,
	"mac":       `^[0-9a-fA-F.:-]+$`,
	"cidr":      `^[0-9a-fA-F.:]+/[0-9]+$`,
	"cidrv4":    `^[0-9a-fA-F.:]+/[0-9]+$`,
	"cidrv6":    `^[0-9a-fA-F.:]+/[0-9]+$`,
}

// pattern is for rules in the table of patterns.
func pattern(_ ruled, r model.Rule) schema { return schema{"pattern": patterns[r.Name]} }

// version is for UUIDs, whose rules are about their usual form.
func version(_ ruled, r model.Rule) schema {
	usual := strings.NewReplacer("^", "", "$", "", "a-f", "a-fA-F", "[89ab]", "[89abAB]").Replace(patterns[strings.TrimSuffix(r.Name, "_rfc4122")])
	bare := strings.ReplaceAll(usual, "-[", "[")
	bare = regexp.MustCompile(`-([3457])\[`).ReplaceAllString(bare, `$1[`)
	return schema{"pattern": "^(?:" + usual + "|" + uuidAround(usual) + "|" + bare + ")$"}
}

// part is for rules that look for text.
func part(_ ruled, r model.Rule) schema {
	is, not := schema{"pattern": regexp.QuoteMeta(r.Param)}, strings.Contains(r.Name, "exclude") || strings.Contains(r.Name, "not")
	switch r.Name {
	case "startswith", "startsnotwith":
		is["pattern"] = "^" + regexp.QuoteMeta(r.Param)
	case "endswith", "endsnotwith":
		is["pattern"] = regexp.QuoteMeta(r.Param) + "$"
	case "containsany", "excludesall":
		is["pattern"] = runes([]rune(r.Param))
		if r.Param == "" {
			is = never()
		}
	case "containsrune", "excludesrune":
		first, _ := utf8.DecodeRuneInString(r.Param)
		is["pattern"] = regexp.QuoteMeta(string(first))
	}
	if not {
		return schema{"not": is}
	}
	return is
}

// runes returns a pattern of one of some characters.
func runes(all []rune) string {
	var b strings.Builder
	b.WriteByte('[')
	for _, c := range all {
		if strings.ContainsRune(`\]^-[`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	b.WriteByte(']')
	return b.String()
}

// folded is for rules that do not tell upper from lower case.
func folded(_ ruled, r model.Rule) schema {
	words := []string{r.Param}
	if strings.HasSuffix(r.Name, "ci") {
		words = r.Listed()
	}
	var all []string
	for _, w := range words {
		var b strings.Builder
		for _, c := range w {
			cases := []rune{c}
			for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
				cases = append(cases, next)
			}
			if len(cases) == 1 {
				b.WriteString(regexp.QuoteMeta(string(c)))
				continue
			}
			slices.Sort(cases)
			b.WriteString(runes(cases))
		}
		all = append(all, b.String())
	}
	is := schema{"pattern": "^(?:" + strings.Join(all, "|") + ")$"}
	if strings.HasPrefix(r.Name, "no") || strings.HasPrefix(r.Name, "ne") {
		return schema{"not": is}
	}
	return is
}

// dated is for datetime with the one layout that JSON Schema has a name for.
func dated(_ ruled, r model.Rule) schema {
	if r.Param != "2006-01-02" {
		return nil
	}
	return schema{"format": "date", "pattern": "^" + date + "$"}
}

// address is for IP addresses. One of version 4 may be written as one of version
// 6, and is one of version 4 still.
func address(_ ruled, r model.Rule) schema {
	four := schema{"format": "ipv4", "pattern": `^[0-9.]+$`}
	six := schema{"format": "ipv6", "pattern": `^[0-9a-fA-F:.]+$`}
	switch r.Name {
	case "ipv4":
		return schema{"anyOf": []schema{four, {"format": "ipv6", "pattern": `^[0:]*:(?:[fF]{4}:|$)[0-9a-fA-F:.]*$`}}}
	case "ipv6":
		return six
	default:
		return schema{"anyOf": []schema{four, six}}
	}
}

// dnsLabel, fqdn and ssn bound the length beside a pattern. All they take is
// ASCII, so that bytes are characters.
func dnsLabel(ruled, model.Rule) schema {
	return schema{"pattern": `^[a-z](?:[a-z0-9-]*[a-z0-9])?$`, "maxLength": count(63)}
}

func fqdn(ruled, model.Rule) schema {
	const label = `[a-zA-Z0-9][a-zA-Z0-9-]{0,62}`
	return schema{
		"pattern": `^` + label + `(?:\.` + label + `)*\.[a-zA-Z][a-zA-Z0-9-]{0,62}\.?$`,
		"anyOf":   []schema{{"maxLength": count(253)}, {"maxLength": count(254), "pattern": `\.$`}},
	}
}

func ssn(ruled, model.Rule) schema {
	return schema{
		"minLength": count(11), "maxLength": count(11),
		"pattern": `^[0-9]{3}[ -]?(?:0[1-9]|[1-9][0-9])[ -]?(?:[1-9][0-9]{3}|[0-9][1-9][0-9]{2}|[0-9]{2}[1-9][0-9]|[0-9]{3}[1-9])$`,
	}
}

// boolean is for strings that strconv reads as one.
func boolean(ruled, model.Rule) schema {
	return schema{"enum": []any{"1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"}}
}

// someText is for rules of which no more can be said.
func someText(ruled, model.Rule) schema { return schema{"minLength": count(1)} }
