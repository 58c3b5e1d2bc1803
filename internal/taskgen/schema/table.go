package schema

import (
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// mapping says how rules are written in JSON Schema, for values of some classes.
// The table in docs/json-schema.md is made of these.
type mapping struct {
	rules   string // validator's names
	on      string // classes
	keyword string // for people
	exact   bool   // the schema refuses all that the rule refuses
	schema  func(ruled, model.Rule) schema
}

var mappings = []mapping{
	{"required", "string", "`minLength` 1", true, func(v ruled, r model.Rule) schema {
		if v.pointer {
			return schema{}
		}
		return someText(v, r)
	}},
	{"required", "integer float bool UUID time", "`not` the zero value", true, required},
	{"required", "slice map bytes", "no `null`", true, always},
	{"required", "array struct", "`not` all zero", false, requiredStruct},
	{"isdefault", "string integer float bool UUID time", "the zero value", true, isDefault},
	{"isdefault", "slice map bytes", "`null` alone", true, isDefaultList},
	{"isdefault", "array struct", "all zero", false, isDefault},

	{"len min max gt gte lt lte", "string", "`minLength`, `maxLength`", true, sized("Length")},
	{"len min max gt gte lt lte eq ne", "slice array", "`minItems`, `maxItems`", true, sized("Items")},
	{"len min max gt gte lt lte eq ne", "map", "`minProperties`, `maxProperties`", true, sized("Properties")},
	{"len min max gt gte lt lte eq", "bytes", "`minLength` in base64; no upper bound", false, sizedBytes},
	{"len min max gt gte lt lte eq ne", "integer", "`minimum`, `maximum`, `const`", true, compared},
	{"len min max gt gte lt lte eq ne", "float", "`minimum`, `exclusiveMinimum`, ...", true, compared},
	{"eq ne", "string bool", "`const`, `not` `const`", true, equal},
	{"oneof noneof", "string integer", "`enum`, `not` `enum`", true, oneOf},
	{"oneofci noneofci eq_ignore_case ne_ignore_case", "string", "`pattern` with both cases", true, folded},
	{"unique", "slice array", "`uniqueItems`, for strings, numbers, booleans and UUIDs, and arrays and structs of them", false, unique},

	{"contains containsany containsrune excludes excludesall excludesrune", "string", "`pattern`, `not` `pattern`", true, part},
	{"startswith endswith startsnotwith endsnotwith", "string", "`pattern`, `not` `pattern`", true, part},
	{"alpha alphaspace alphanum alphanumspace alphaunicode alphanumunicode", "string", "`pattern`", true, pattern},
	{"ascii printascii multibyte", "string", "`pattern`", true, pattern},
	{"numeric number hexadecimal hexcolor e164 latitude longitude", "string", "`pattern`", true, pattern},
	{"numeric number", "integer float", "nothing, since they are", true, always},
	{"latitude longitude", "integer float", "`minimum`, `maximum`", true, degrees},
	{"port", "integer", "`minimum`, `maximum`", true, port},
	{"boolean", "string", "`enum`", true, boolean},
	{"boolean", "bool", "nothing, since they are", true, always},
	{"uuid uuid_rfc4122 uuid3 uuid4 uuid5 uuid7 uuid3_rfc4122 uuid4_rfc4122 uuid5_rfc4122 ulid", "string", "`pattern`", true, pattern},
	{"uuid uuid_rfc4122", "UUID", "nothing, since they are", true, always},
	{"uuid3 uuid4 uuid5 uuid7 uuid3_rfc4122 uuid4_rfc4122 uuid5_rfc4122", "UUID", "`pattern`", true, version},
	{"md4 md5 ripemd128 ripemd160 sha256 sha384 sha512 tiger128 tiger160 tiger192", "string", "`pattern`", true, pattern},
	{"base32 base64 base64url base64rawurl jwt", "string", "`pattern`", true, pattern},
	{"semver cve ein bic bic_iso_9362_2014 mongodb eth_addr", "string", "`pattern`", true, pattern},
	{"ssn", "string", "`pattern`, `minLength`, `maxLength`", true, ssn},
	{"hostname hostname_rfc1123 hostname_label", "string", "`pattern`", true, pattern},
	{"dns_rfc1035_label fqdn", "string", "`pattern`, `maxLength`", true, func(v ruled, r model.Rule) schema {
		if r.Name == "fqdn" {
			return fqdn(v, r)
		}
		return dnsLabel(v, r)
	}},
	{"html html_encoded url_encoded", "string", "`pattern`", true, pattern},
	{"ip", "string", "`format` ipv4 or ipv6", true, address},
	{"ipv4 ipv6", "string", "`format` ipv4 or ipv6, of both where one may be written as the other", false, address},
	{"datetime=2006-01-02", "string", "`format` date", true, dated},
	{"email url http_url https_url origin uri mac cidr cidrv4 cidrv6", "string", "a `pattern` that takes more", false, pattern},
	{"lowercase uppercase", "string", "a `pattern` for the letters of ASCII", false, pattern},
	{"json timezone isbn isbn10 isbn13 issn credit_card luhn_checksum datauri hostname_port btc_addr btc_addr_bech32 eth_addr_checksum", "string", "`minLength` 1", false, someText},
}

// unmapped are rules that no schema speaks of.
var unmapped = []struct{ rules, reason string }{
	{strings.Join(model.SiblingRules, " "), "they compare with other fields; `required_if` and `required_with` are `if` and `then` for strings, integers and booleans of one struct"},
	{"rgb rgba hsl hsla cmyk iscolor", "the space in them is not the same for all implementations of patterns"},
	{"file filepath dir dirpath image mimetype uds_exists", "they depend on the file system of the program"},
	{"tcp4_addr tcp6_addr tcp_addr udp4_addr udp6_addr udp_addr ip4_addr ip6_addr ip_addr unix_addr", "they may query the network"},
	{
		"iso3166_1_alpha2 iso3166_1_alpha2_eu iso3166_1_alpha3 iso3166_1_alpha3_eu iso3166_1_alpha_numeric iso3166_1_alpha_numeric_eu " +
			"iso3166_2 iso4217 iso4217_numeric country_code eu_country_code bcp47_language_tag bcp47_strict_language_tag postcode_iso3166_alpha2",
		"their lists belong to a version of validator",
	},
	{"cron duration mongodb_connection_string spicedb urn_rfc2141 urn_rfc8141 validateFn", "they are grammars or code of their own"},
}

// mappingOf returns how a rule is written for a type, or nil.
func mappingOf(t *model.Type, rule string) *mapping {
	on := class(t)
	for i, m := range mappings {
		for name := range strings.FieldsSeq(m.rules) {
			if name, _, _ = strings.Cut(name, "="); name == rule && slices.Contains(strings.Fields(m.on), on) {
				return &mappings[i]
			}
		}
	}
	return nil
}
