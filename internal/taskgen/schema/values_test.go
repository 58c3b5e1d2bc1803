package schema

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// valuesFor returns JSON values to try on a type: its edges, values that some
// rule takes, near misses of those, and random ones. "" leaves it out.
func valuesFor(t *model.Type) []string {
	for t.Form == model.Pointer {
		t = t.Elem
	}
	all := []string{"", "null", "true", "3", `"x"`, "[]", "{}", "1.5"}
	switch class(t) {
	case "string", "own":
		for _, s := range sampleStrings() {
			all = append(all, quoted(s))
		}
		all = append(all, `{"set":true,"value":"x"}`, `{"set":true,"value":"long"}`, "[1,2]", `[{"set":true,"value":"long"}]`, `[{}]`, `[null]`, "-12")
	case "integer":
		for n := int64(-140); n <= 320; n++ {
			all = append(all, strconv.FormatInt(n, 10))
		}
		all = append(all,
			"1000", "32767", "32768", "-32768", "-32769", "65535", "65536", "1000000", "3600000000000", "3600000000001", "999999", "5000000000",
			"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "26", "79927398713",
		)
		if t.Form == model.Int { // for uint the decoder refuses it, and a schema cannot tell it from 0
			all = append(all, "-0")
		}
	case "float":
		for n := -400; n <= 400; n += 3 {
			all = append(all, strconv.FormatFloat(float64(n)/2, 'g', -1, 64), strconv.FormatFloat(float64(n)/256, 'g', -1, 64))
		}
		all = append(all, "0", "-0", "0.5", "0.25", "2", "0.1", "0.10000001", "0.09999999", "1e300", "1e39", "-1e39", "3.4028235e38", "-1e3", "-999.9", "1e2", "99.9", "180", "180.00002", "90.00001", "-90")
	case "bool":
		all = append(all, "false")
	case "slice", "array", "bytes":
		all = append(all, lists()...)
		for n := range 8 {
			data, _ := json.Marshal(make([]byte, n)) //nolint:errchkjson // Bytes are always JSON
			all = append(all, string(data))
		}
		all = append(all, `"AAA="`, `"\r\nAA==\n"`, `"\n"`, `"A"`, `"AA"`, `"_-=="`)
	case "map":
		for _, elem := range []string{"0", "1", "3", "null", `{}`, `{"a":1}`, `{"a":1,"b":"long"}`} {
			for _, keys := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}, {"_"}, {"long"}, {""}, {"a1"}, {"glad"}, {"1"}, {"-3", "3"}, {"4"}, {"128"}, {"1.5"}, {"01"}, {"+1"}, {"é€"}, {"01890a5d-ac96-774b-bcce-b302099a8057"}} {
				var members []string
				for _, k := range keys {
					members = append(members, quoted(k)+":"+elem)
				}
				all = append(all, "{"+strings.Join(members, ",")+"}")
			}
		}
	case "UUID":
		for _, id := range uuids() {
			all = append(all, quoted(id), quoted(strings.ToUpper(id)), quoted("urn:uuid:"+id), quoted("URN:UUID:"+id), quoted("{"+id+"}"), quoted("x"+id+"\n"),
				quoted(strings.ReplaceAll(id, "-", "")), quoted("é"+id), quoted(id+" "), quoted("urn:"+id))
		}
	case "time":
		for _, s := range times() {
			all = append(all, quoted(s))
		}
	case "struct":
		for _, a := range []string{"", `"a":0`, `"a":1`, `"a":"0"`, `"a":"5"`, `"a":null`} {
			for _, b := range []string{"", `"b":""`, `"b":"x"`, `"b":"long"`, `"b":null`, `"b":[]`, `"b":[1]`, `"c":"0001-01-01T00:00:00Z"`, `"c":"2006-01-02T15:04:05Z"`, `"d":null`, `"d":0`, `"e":{}`, `"e":{"a":0}`, `"e":{"b":"y"}`, `"z":1`} {
				all = append(all, "{"+strings.Trim(a+","+b, ",")+"}")
			}
		}
		all = append(all, `{"set":true,"value":"x"}`, `{"set":true,"value":"long"}`)
		all = append(all, nodes(2)...)
		for _, c := range []string{``, `"c":""`, `"c":"x"`, `"d":0`, `"c":"x","d":1`} {
			for _, a := range []string{``, `"a":0`, `"a":1`, `"a":1,"own":"long"`, `"a":1,"own":"longer"`, `"own":""`} {
				all = append(all, "{"+strings.Trim(a+","+c, ",")+"}")
			}
		}
		for _, items := range lists() {
			all = append(all, `{"items":`+items+`,"first":{"a":1}}`, `{"items":`+items+`,"first":1}`)
		}
	}
	return all
}

// nodes returns objects that contain others like them.
func nodes(depth int) (all []string) {
	for _, name := range []string{"", `"name":""`, `"name":"x"`, `"name":"long"`} {
		all = append(all, "{"+name+"}")
	}
	if depth == 0 {
		return all
	}
	for _, n := range nodes(depth - 1) {
		for _, one := range []string{`"next":` + n, `"children":[` + n + `]`, `"by":{"k":` + n + `}`, `"children":[` + n + `,{"name":"y"},{"name":"z"}]`} {
			all = append(all, `{"name":"x",`+one+`}`, `{`+one+`}`)
		}
	}
	for _, forest := range []string{"[]", "[[]]", "[[],[],[]]", "[[[],[],[]]]", "[null]", "[1]", "[[[[1]]]]"} {
		all = append(all, `{"name":"x","forest":`+forest+`}`)
	}
	return all
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func uuids() []string {
	return []string{
		"00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000001", "a987fbc9-4bed-3078-8f07-9141ba07c9f3",
		"57b73598-8764-4ad0-a76a-679bb6640eb1", "57b73598-8764-4ad0-c76a-679bb6640eb1", "987fbc97-4bed-5078-9f07-9141ba07c9f3",
		"01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a805g", "ffffffff-ffff-ffff-ffff-ffffffffffff",
	}
}

func times() []string {
	return []string{
		"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00-00:00", "0000-12-31T23:00:00-01:00",
		"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.999999999+05:30", "2999-01-02T15:04:05Z", "2006-01-02t15:04:05z", "2006-01-02T15:04:05.Z",
		"2006-01-02T15:04:05,5Z", "2006-01-02T15:04:05.5,5Z", "2006-01-02T15:04:05+24:00", "2006-01-02T15:04:05-24:01", "2006-01-02T15:04:05+00:60", "2006-01-02T15:04:05+25:00", "2006-01-02T15:04:05+00:61", "2006-01-02T24:00:00Z", "2006-02-29T15:04:05Z", "2004-02-29T15:04:05Z", "2006-01-02T15:04:60Z", "2016-12-31T23:59:60Z",
		"2006-01-02T15:04:05+24:00", "2006-01-02T15:04:05+23:59", "2006-01-02T15:04:05", "2006-01-02", "", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2006-01-02T5:04:05Z",
	}
}

// lists returns arrays of all sorts of elements.
func lists() []string {
	elems := []string{
		"0", "1", "2", "-0", "null", `""`, `"a"`, `"abc"`, `{}`, `{"a":1}`, `{"a":1,"b":"long"}`, `{"a":0,"b":""}`, "[]", "[1]", "[1,2,3,4]",
		`"57b73598-8764-4ad0-a76a-679bb6640eb1"`, `"57B73598-8764-4AD0-A76A-679BB6640EB1"`,
		`"glad"`, `"2006-01-02T15:04:05+05:17"`, `"2006-01-02T15:04:05Z"`, `"0001-01-01T00:00:00Z"`,
	}
	var all []string
	for i, a := range elems {
		b := elems[(i+1)%len(elems)]
		all = append(all, "["+a+"]", "["+a+","+a+"]", "["+a+","+b+"]", "["+b+","+a+"]", "["+a+","+a+","+a+"]", "["+a+","+b+","+a+"]")
	}
	return all
}

// sampleStrings returns strings that some rule accepts, and strings close to those.
func sampleStrings() []string {
	hexes := strings.Repeat("0123456789abcdef", 8)
	good := []string{
		"a", "ab", "abc", "glad", "sad", "glad ", "abcd", "abcde", "abcdef", "a,b", "é", "aé€", "😀😀", "日本語", "red", "RED", "Red", "blue", "dark blue", "dark", "its", "it's", "kiss", "KISS", "\u212aiſs", "straße.k", "STRASSE.K", "STRAßE.\u212a",
		"a.b", "axb", "xa.bx", "^", "]", "-", `\`, "x-x", "(a", "(ab)", "b)", "ab)", "x", "xyz", "|", "a b", "c d", "c", "d", "az", "a1z", "a1Z",
		" ", "a b c", "a 1", "12", "-12.5", "+3", "1.", "0x1F", "1F", "#fff", "#ffff", "#FFaa00", "#FFaa0011", "#ff", "+491711234567", "491711234567", "0491",
		"90", "90.0", "-90.1", "45.5", "180", "180.00", "-179.9", "181", "true", "T", "False", "tRUE", "1", "0", "f",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav", "01ARZ3NDE\u212aTſV4RRFFQ69G5FAV", "81ARZ3NDEKTSV4RRFFQ69G5FAV",
		hexes[:24], hexes[:32], hexes[:40], hexes[:48], hexes[:64], hexes[:96], hexes[:128], "MZXW6===", "MZXW6YTB", "MY======", "aGVsbG8=", "aGVsbG8h", "aA==", "_-_-", "aGVsbG8", "eyJh.eyJz.sig", "a.b.", "a.b.c",
		"1.2.3", "1.2.3-rc.1+build.5", "01.2.3", "1.2.3-01", "CVE-2014-0160", "CVE-1999-12345", "CVE-2014-0000", "CVE-2014-0é00", "12-3456789", "DEUTDEFF", "DEUTDEFF500", "deutdeff", "DEUTDE1F50",
		"0x52908400098527886E0F7030069857D2E4169EE7", "0x52908400098527886e0f7030069857d2e4169ee7", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "123-45-6789", "123 45 6789", "00000000000", "123-00-6789",
		"example.com", "example.com.", "1example.com", "-example", "a-b", "a-", "host", "HOST1", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 126) + "b", strings.Repeat("a.", 126) + "b.", strings.Repeat("a.", 127) + "b", strings.Repeat("a.", 126) + "bc.", strings.Repeat("a.", 126) + "bc",
		"<b>", "</b x>", "<b\r>", "<b\n>", "<1>", "&#x41", "&gt;", "&amp", "&", "%41x", "%4", "100%",
		"127.0.0.1", "1.2.3.04", "256.1.1.1", "+1.2.3.4", "1.2.3", "::1", "::", "::ffff:1.2.3.4", "::FFFF:102:304", "0:0:0:0:0:ffff:1:2", "0:0:0:0:0:ffff::", "0:0:0:0:0:ffff:1::", "0::ffff:0.0.0.1", "fe80::1", "fe80::1%eth0", "2001:db8::", "1::ffff:2:3",
		"a@b.co", "a.b+c@example.org", "a@b", "@b.co", `"a b"@example.com`, `"a@b"@example.com`, "ü@exämple.de", "a@b.co.", "a@b..co", "A <a@b.co>", "a@" + strings.Repeat("b", 250) + ".com",
		"http://example.com", "HTTPS://EXAMPLE.com:80/a b?x#y", "https://exämple.com/ü", "http://", "http:///x", "http://?x", "https://user@host/", "http://user@/", "ftp://x/y", "mailto:a", "urn:x", "file:///etc", "file:/", "file://", "x:", "x:#f", "\u212a:x", "://x", "/path", "/path#x", "#x", "path", "*", "http://a b", "http://[::1]", "http://[::1]:8080", "http://host:99999", "http://host#", "http://127.0.0.1",
		"00:00:5e:00:53:01", "0000.5e00.5301", "00-00-5e-00-53-01", "10.0.0.0/8", "10.0.0.1/8", "::/0", "2001:db8::/32", "1.2.3.4/33", "::1%e/3",
		"lower", "lowér", "UPPER", "ÜPPER", "mIxed", "ǅ", "ß", "12:30", "2006-01-02", "2006-02-30", "0000-01-01", "2006-1-2", "+2006-01-02",
		`{"a":1}`, "null", "\t1\n", "UTC", "Europe/Berlin", "Local", "978-3-16-148410-0", "316148410X", "3-16-148410-X", "9783161484100", "0317-8471", "2434-561X", "4111 1111 1111 1111", "4111111111111111", "79927398713", "18",
		"data:text/plain;base64,aGVsbG8=", "host:80", ":80", "host:0", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
		"0 0 * * *", "@daily", "²", "Ⅷ", "١", "a\u0301", "\u2028", "\u00a0", "\x01", "\x7f", "\x80",
	}
	good = append(good, uuids()...)
	near, odd := []rune("a0-. é%:@/\\G"), []rune("abzAZ019 .-_+%:/@#[]()é€😀ßſ\u212a\n\t\"'")
	r := rand.New(rand.NewPCG(1, 2))
	all := append([]string{""}, good...)
	for _, s := range good {
		switch r.IntN(6) {
		case 0:
			all = append(all, strings.ToUpper(s))
		case 1:
			all = append(all, s+"\n")
		case 2:
			all = append(all, " "+s)
		}
		if len(s) > 1 && len(s) < 70 && r.IntN(2) == 0 {
			runes := []rune(s)
			at := r.IntN(len(runes))
			all = append(all, string(append(append([]rune{}, runes[:at]...), runes[at+1:]...)))
			runes[at] = near[r.IntN(len(near))]
			all = append(all, string(runes))
		}
	}
	for range 60 {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteRune(odd[r.IntN(len(odd))])
		}
		all = append(all, b.String())
	}
	return all
}
