package lock

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/taskgen/model"
)

// TestImplied holds the table against validator: what one rule takes, the other must
// take, of values that some rule takes, and of values close to them.
func TestImplied(t *testing.T) {
	t.Parallel()
	refuses := func(rule, value string) bool {
		return prover{typ: "string"}.refusesText(value, []model.Rule{{Name: rule}})
	}
	values := nearValues()
	for from, all := range implied {
		if strings.HasSuffix(from, "field") {
			continue // about other fields
		}
		taken := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return refuses(from, v) })
		if len(taken) == 0 {
			t.Errorf("no value is %s", from)
		}
		for to := range strings.FieldsSeq(all) {
			for _, v := range taken {
				if refuses(to, v) {
					t.Errorf("%q is %s and not %s", v, from, to)
					break
				}
			}
		}
		for name, n := range lengths {
			for _, v := range taken {
				if leads(from, name) && len([]rune(v)) != int(n) {
					t.Errorf("%q is %s and has not %d characters", v, from, n)
					break
				}
			}
		}
	}
}

// nearValues returns values that some rule takes, and those with one character
// changed, left out or added.
func nearValues() (all []string) {
	hexes := strings.Repeat("0123456789abcdef", 8)
	good := []string{
		"a", "abc", "ABC", "a b", "a1", "a 1", "é", "日本", "é1", "1", "12", "-12.5", "+3", "0x1F", "1F", "1.2.3", "1.2.3-rc.1+build.5", "true", "false", "T",
		"987fbc97-4bed-3078-9f07-9141ba07c9f3", "57b73598-8764-4ad0-a76a-679bb6640eb1", "987fbc97-4bed-5078-9f07-9141ba07c9f3",
		"01890a5d-ac96-774b-bcce-b302099a8057", "57B73598-8764-4AD0-A76A-679BB6640EB1", "01ARZ3NDEKTSV4RRFFQ69G5FAV",
		hexes[:24], hexes[:32], hexes[:64], hexes[:96], hexes[:128], strings.ToUpper(hexes[:32]),
		"+491711234567", "491711234567", "45.5", "-90", "180", "#fff", "#FFaa00", "#FFaa0011", "rgb(1,2,3)", "rgb(1%,2%,3%)", "rgba(1,2,3,0.5)", "hsl(1,2%,3%)", "hsla(1,2%,3%,0.5)", "cmyk(1%,2%,3%,4%)",
		"http://example.com", "https://example.com/a?b#c", "HTTPS://EXAMPLE.com:80/ä b", "ftp://x/y", "mailto:a", "urn:x:y", "https://1.2.3.4/", "file:///etc", "/path",
		"127.0.0.1", "::1", "::ffff:1.2.3.4", "10.0.0.0/8", "2001:db8::/32", "example.com", "host", "a-b.c", "1host.example", "example.com.",
		"978-3-16-148410-0", "9783161484100", "316148410X", "3-16-148410-X", "0x52908400098527886E0F7030069857D2E4169EE7", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		"CVE-2014-0160", "123-45-6789", "123 45 6789", "aGVsbG8=", "_-_-", "aGVsbG8", "eyJh.eyJz.sig", "UTC", "Europe/Berlin", "Local",
	}
	r := rand.New(rand.NewPCG(1, 2))
	odd := []rune("azAZ09 .-_+%:/@#é\u212aſ\n\t")
	for _, g := range good {
		all = append(all, g, strings.ToUpper(g), strings.ToLower(g), g+"\n", " "+g)
		for range 60 {
			runes := []rune(g)
			at, c := r.IntN(len(runes)), odd[r.IntN(len(odd))]
			switch r.IntN(3) {
			case 0:
				runes[at] = c
			case 1:
				runes = slices.Insert(runes, at, c)
			default:
				runes = slices.Delete(runes, at, at+1)
			}
			if len(runes) > 0 {
				all = append(all, string(runes))
			}
		}
	}
	return all
}
