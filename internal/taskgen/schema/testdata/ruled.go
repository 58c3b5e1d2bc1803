// Package ruled has a type for every rule that taskgen writes in JSON Schema, by
// itself and among others. Each stands alone behind a pointer, so that a value of
// one is checked by its rules alone.
package ruled

import (
	"context"
	"math/big"
	"time"

	"taskkit.dev/taskkit"
)

// Spec has a field for each case.
type Spec struct {
	StrRequired           *StrRequiredCase           `json:"str_required,omitempty"`
	StrDefault            *StrDefaultCase            `json:"str_default,omitempty"`
	StrLen                *StrLenCase                `json:"str_len,omitempty"`
	StrMin                *StrMinCase                `json:"str_min,omitempty"`
	StrMax                *StrMaxCase                `json:"str_max,omitempty"`
	StrGt                 *StrGtCase                 `json:"str_gt,omitempty"`
	StrGte                *StrGteCase                `json:"str_gte,omitempty"`
	StrLt                 *StrLtCase                 `json:"str_lt,omitempty"`
	StrLte                *StrLteCase                `json:"str_lte,omitempty"`
	StrLtZero             *StrLtZeroCase             `json:"str_lt_zero,omitempty"`
	StrEq                 *StrEqCase                 `json:"str_eq,omitempty"`
	StrNe                 *StrNeCase                 `json:"str_ne,omitempty"`
	StrOneOf              *StrOneOfCase              `json:"str_one_of,omitempty"`
	StrNoneOf             *StrNoneOfCase             `json:"str_none_of,omitempty"`
	StrOneOfCI            *StrOneOfCICase            `json:"str_one_of_ci,omitempty"`
	StrNoneOfCI           *StrNoneOfCICase           `json:"str_none_of_ci,omitempty"`
	StrEqFold             *StrEqFoldCase             `json:"str_eq_fold,omitempty"`
	StrNeFold             *StrNeFoldCase             `json:"str_ne_fold,omitempty"`
	StrContains           *StrContainsCase           `json:"str_contains,omitempty"`
	StrContainsAny        *StrContainsAnyCase        `json:"str_contains_any,omitempty"`
	StrContainsRune       *StrContainsRuneCase       `json:"str_contains_rune,omitempty"`
	StrExcludes           *StrExcludesCase           `json:"str_excludes,omitempty"`
	StrExcludesAll        *StrExcludesAllCase        `json:"str_excludes_all,omitempty"`
	StrExcludesRune       *StrExcludesRuneCase       `json:"str_excludes_rune,omitempty"`
	StrStarts             *StrStartsCase             `json:"str_starts,omitempty"`
	StrEnds               *StrEndsCase               `json:"str_ends,omitempty"`
	StrStartsNot          *StrStartsNotCase          `json:"str_starts_not,omitempty"`
	StrEndsNot            *StrEndsNotCase            `json:"str_ends_not,omitempty"`
	StrOmit               *StrOmitCase               `json:"str_omit,omitempty"`
	StrOmitOneOf          *StrOmitOneOfCase          `json:"str_omit_one_of,omitempty"`
	StrRequiredOneOf      *StrRequiredOneOfCase      `json:"str_required_one_of,omitempty"`
	StrOmitZero           *StrOmitZeroCase           `json:"str_omit_zero,omitempty"`
	StrOmitNil            *StrOmitNilCase            `json:"str_omit_nil,omitempty"`
	StrLate               *StrLateCase               `json:"str_late,omitempty"`
	StrOr                 *StrOrCase                 `json:"str_or,omitempty"`
	StrOrUnmapped         *StrOrUnmappedCase         `json:"str_or_unmapped,omitempty"`
	StrOrEq               *StrOrEqCase               `json:"str_or_eq,omitempty"`
	StrTwo                *StrTwoCase                `json:"str_two,omitempty"`
	StrBounds             *StrBoundsCase             `json:"str_bounds,omitempty"`
	StrPatterns           *StrPatternsCase           `json:"str_patterns,omitempty"`
	StrSibling            *StrSiblingCase            `json:"str_sibling,omitempty"`
	StrCron               *StrCronCase               `json:"str_cron,omitempty"`
	StrSkip               *StrSkipCase               `json:"str_skip,omitempty"`
	StrDatetime           *StrDatetimeCase           `json:"str_datetime,omitempty"`
	StrClock              *StrClockCase              `json:"str_clock,omitempty"`
	IsAlpha               *IsAlphaCase               `json:"is_alpha,omitempty"`
	IsAlphaspace          *IsAlphaspaceCase          `json:"is_alphaspace,omitempty"`
	IsAlphanum            *IsAlphanumCase            `json:"is_alphanum,omitempty"`
	IsAlphanumspace       *IsAlphanumspaceCase       `json:"is_alphanumspace,omitempty"`
	IsAlphaunicode        *IsAlphaunicodeCase        `json:"is_alphaunicode,omitempty"`
	IsAlphanumunicode     *IsAlphanumunicodeCase     `json:"is_alphanumunicode,omitempty"`
	IsAscii               *IsAsciiCase               `json:"is_ascii,omitempty"`
	IsPrintascii          *IsPrintasciiCase          `json:"is_printascii,omitempty"`
	IsMultibyte           *IsMultibyteCase           `json:"is_multibyte,omitempty"`
	IsNumeric             *IsNumericCase             `json:"is_numeric,omitempty"`
	IsNumber              *IsNumberCase              `json:"is_number,omitempty"`
	IsHexadecimal         *IsHexadecimalCase         `json:"is_hexadecimal,omitempty"`
	IsHexcolor            *IsHexcolorCase            `json:"is_hexcolor,omitempty"`
	IsE164                *IsE164Case                `json:"is_e164,omitempty"`
	IsLatitude            *IsLatitudeCase            `json:"is_latitude,omitempty"`
	IsLongitude           *IsLongitudeCase           `json:"is_longitude,omitempty"`
	IsBoolean             *IsBooleanCase             `json:"is_boolean,omitempty"`
	IsUuid                *IsUuidCase                `json:"is_uuid,omitempty"`
	IsUuidRfc4122         *IsUuidRfc4122Case         `json:"is_uuid_rfc4122,omitempty"`
	IsUuid3               *IsUuid3Case               `json:"is_uuid3,omitempty"`
	IsUuid4               *IsUuid4Case               `json:"is_uuid4,omitempty"`
	IsUuid5               *IsUuid5Case               `json:"is_uuid5,omitempty"`
	IsUuid7               *IsUuid7Case               `json:"is_uuid7,omitempty"`
	IsUuid3Rfc4122        *IsUuid3Rfc4122Case        `json:"is_uuid3_rfc4122,omitempty"`
	IsUuid4Rfc4122        *IsUuid4Rfc4122Case        `json:"is_uuid4_rfc4122,omitempty"`
	IsUuid5Rfc4122        *IsUuid5Rfc4122Case        `json:"is_uuid5_rfc4122,omitempty"`
	IsUlid                *IsUlidCase                `json:"is_ulid,omitempty"`
	IsMd4                 *IsMd4Case                 `json:"is_md4,omitempty"`
	IsMd5                 *IsMd5Case                 `json:"is_md5,omitempty"`
	IsRipemd128           *IsRipemd128Case           `json:"is_ripemd128,omitempty"`
	IsRipemd160           *IsRipemd160Case           `json:"is_ripemd160,omitempty"`
	IsSha256              *IsSha256Case              `json:"is_sha256,omitempty"`
	IsSha384              *IsSha384Case              `json:"is_sha384,omitempty"`
	IsSha512              *IsSha512Case              `json:"is_sha512,omitempty"`
	IsTiger128            *IsTiger128Case            `json:"is_tiger128,omitempty"`
	IsTiger160            *IsTiger160Case            `json:"is_tiger160,omitempty"`
	IsTiger192            *IsTiger192Case            `json:"is_tiger192,omitempty"`
	IsBase32              *IsBase32Case              `json:"is_base32,omitempty"`
	IsBase64              *IsBase64Case              `json:"is_base64,omitempty"`
	IsBase64url           *IsBase64urlCase           `json:"is_base64url,omitempty"`
	IsBase64rawurl        *IsBase64rawurlCase        `json:"is_base64rawurl,omitempty"`
	IsJwt                 *IsJwtCase                 `json:"is_jwt,omitempty"`
	IsSemver              *IsSemverCase              `json:"is_semver,omitempty"`
	IsCve                 *IsCveCase                 `json:"is_cve,omitempty"`
	IsEin                 *IsEinCase                 `json:"is_ein,omitempty"`
	IsBic                 *IsBicCase                 `json:"is_bic,omitempty"`
	IsBicIso93622014      *IsBicIso93622014Case      `json:"is_bic_iso93622014,omitempty"`
	IsMongodb             *IsMongodbCase             `json:"is_mongodb,omitempty"`
	IsEthAddr             *IsEthAddrCase             `json:"is_eth_addr,omitempty"`
	IsSsn                 *IsSsnCase                 `json:"is_ssn,omitempty"`
	IsHostname            *IsHostnameCase            `json:"is_hostname,omitempty"`
	IsHostnameRfc1123     *IsHostnameRfc1123Case     `json:"is_hostname_rfc1123,omitempty"`
	IsHostnameLabel       *IsHostnameLabelCase       `json:"is_hostname_label,omitempty"`
	IsDnsRfc1035Label     *IsDnsRfc1035LabelCase     `json:"is_dns_rfc1035_label,omitempty"`
	IsFqdn                *IsFqdnCase                `json:"is_fqdn,omitempty"`
	IsHtml                *IsHtmlCase                `json:"is_html,omitempty"`
	IsHtmlEncoded         *IsHtmlEncodedCase         `json:"is_html_encoded,omitempty"`
	IsUrlEncoded          *IsUrlEncodedCase          `json:"is_url_encoded,omitempty"`
	IsIp                  *IsIpCase                  `json:"is_ip,omitempty"`
	IsIpv4                *IsIpv4Case                `json:"is_ipv4,omitempty"`
	IsIpv6                *IsIpv6Case                `json:"is_ipv6,omitempty"`
	IsEmail               *IsEmailCase               `json:"is_email,omitempty"`
	IsUrl                 *IsUrlCase                 `json:"is_url,omitempty"`
	IsHttpUrl             *IsHttpUrlCase             `json:"is_http_url,omitempty"`
	IsHttpsUrl            *IsHttpsUrlCase            `json:"is_https_url,omitempty"`
	IsOrigin              *IsOriginCase              `json:"is_origin,omitempty"`
	IsUri                 *IsUriCase                 `json:"is_uri,omitempty"`
	IsMac                 *IsMacCase                 `json:"is_mac,omitempty"`
	IsCidr                *IsCidrCase                `json:"is_cidr,omitempty"`
	IsCidrv4              *IsCidrv4Case              `json:"is_cidrv4,omitempty"`
	IsCidrv6              *IsCidrv6Case              `json:"is_cidrv6,omitempty"`
	IsLowercase           *IsLowercaseCase           `json:"is_lowercase,omitempty"`
	IsUppercase           *IsUppercaseCase           `json:"is_uppercase,omitempty"`
	IsJson                *IsJsonCase                `json:"is_json,omitempty"`
	IsTimezone            *IsTimezoneCase            `json:"is_timezone,omitempty"`
	IsIsbn                *IsIsbnCase                `json:"is_isbn,omitempty"`
	IsIsbn10              *IsIsbn10Case              `json:"is_isbn10,omitempty"`
	IsIsbn13              *IsIsbn13Case              `json:"is_isbn13,omitempty"`
	IsIssn                *IsIssnCase                `json:"is_issn,omitempty"`
	IsCreditCard          *IsCreditCardCase          `json:"is_credit_card,omitempty"`
	IsLuhnChecksum        *IsLuhnChecksumCase        `json:"is_luhn_checksum,omitempty"`
	IsDatauri             *IsDatauriCase             `json:"is_datauri,omitempty"`
	IsHostnamePort        *IsHostnamePortCase        `json:"is_hostname_port,omitempty"`
	IsBtcAddr             *IsBtcAddrCase             `json:"is_btc_addr,omitempty"`
	IsBtcAddrBech32       *IsBtcAddrBech32Case       `json:"is_btc_addr_bech32,omitempty"`
	IsEthAddrChecksum     *IsEthAddrChecksumCase     `json:"is_eth_addr_checksum,omitempty"`
	PtrRequired           *PtrRequiredCase           `json:"ptr_required,omitempty"`
	PtrDefault            *PtrDefaultCase            `json:"ptr_default,omitempty"`
	PtrOmit               *PtrOmitCase               `json:"ptr_omit,omitempty"`
	PtrMin                *PtrMinCase                `json:"ptr_min,omitempty"`
	PtrZero               *PtrZeroCase               `json:"ptr_zero,omitempty"`
	PtrOneOf              *PtrOneOfCase              `json:"ptr_one_of,omitempty"`
	PtrEmail              *PtrEmailCase              `json:"ptr_email,omitempty"`
	PtrInt                *PtrIntCase                `json:"ptr_int,omitempty"`
	PtrIntRequired        *PtrIntRequiredCase        `json:"ptr_int_required,omitempty"`
	PtrPlain              *PtrPlainCase              `json:"ptr_plain,omitempty"`
	IntRequired           *IntRequiredCase           `json:"int_required,omitempty"`
	IntDefault            *IntDefaultCase            `json:"int_default,omitempty"`
	IntLen                *IntLenCase                `json:"int_len,omitempty"`
	IntMin                *IntMinCase                `json:"int_min,omitempty"`
	IntMax                *IntMaxCase                `json:"int_max,omitempty"`
	IntGt                 *IntGtCase                 `json:"int_gt,omitempty"`
	IntLt                 *IntLtCase                 `json:"int_lt,omitempty"`
	IntGte                *IntGteCase                `json:"int_gte,omitempty"`
	IntLte                *IntLteCase                `json:"int_lte,omitempty"`
	IntGtUint             *IntGtUintCase             `json:"int_gt_uint,omitempty"`
	IntEq                 *IntEqCase                 `json:"int_eq,omitempty"`
	IntNe                 *IntNeCase                 `json:"int_ne,omitempty"`
	IntOneOf              *IntOneOfCase              `json:"int_one_of,omitempty"`
	IntOneOfUint          *IntOneOfUintCase          `json:"int_one_of_uint,omitempty"`
	IntNoneOf             *IntNoneOfCase             `json:"int_none_of,omitempty"`
	IntOmit               *IntOmitCase               `json:"int_omit,omitempty"`
	IntOmitOneOf          *IntOmitOneOfCase          `json:"int_omit_one_of,omitempty"`
	IntPort               *IntPortCase               `json:"int_port,omitempty"`
	IntPortUint           *IntPortUintCase           `json:"int_port_uint,omitempty"`
	IntLatitude           *IntLatitudeCase           `json:"int_latitude,omitempty"`
	IntLongitude          *IntLongitudeCase          `json:"int_longitude,omitempty"`
	IntNumber             *IntNumberCase             `json:"int_number,omitempty"`
	IntHuge               *IntHugeCase               `json:"int_huge,omitempty"`
	IntOr                 *IntOrCase                 `json:"int_or,omitempty"`
	IntWait               *IntWaitCase               `json:"int_wait,omitempty"`
	IntWaitEq             *IntWaitEqCase             `json:"int_wait_eq,omitempty"`
	IntPlain              *IntPlainCase              `json:"int_plain,omitempty"`
	IntLuhn               *IntLuhnCase               `json:"int_luhn,omitempty"`
	FloatRequired         *FloatRequiredCase         `json:"float_required,omitempty"`
	FloatDefault          *FloatDefaultCase          `json:"float_default,omitempty"`
	FloatMin              *FloatMinCase              `json:"float_min,omitempty"`
	FloatMax              *FloatMaxCase              `json:"float_max,omitempty"`
	FloatGt               *FloatGtCase               `json:"float_gt,omitempty"`
	FloatLt               *FloatLtCase               `json:"float_lt,omitempty"`
	FloatEq               *FloatEqCase               `json:"float_eq,omitempty"`
	FloatNe               *FloatNeCase               `json:"float_ne,omitempty"`
	FloatLen              *FloatLenCase              `json:"float_len,omitempty"`
	FloatOmit             *FloatOmitCase             `json:"float_omit,omitempty"`
	FloatLatitude         *FloatLatitudeCase         `json:"float_latitude,omitempty"`
	FloatLongitude        *FloatLongitudeCase        `json:"float_longitude,omitempty"`
	FloatInf              *FloatInfCase              `json:"float_inf,omitempty"`
	FloatNumeric          *FloatNumericCase          `json:"float_numeric,omitempty"`
	FloatPlain            *FloatPlainCase            `json:"float_plain,omitempty"`
	BoolRequired          *BoolRequiredCase          `json:"bool_required,omitempty"`
	BoolDefault           *BoolDefaultCase           `json:"bool_default,omitempty"`
	BoolEq                *BoolEqCase                `json:"bool_eq,omitempty"`
	BoolNe                *BoolNeCase                `json:"bool_ne,omitempty"`
	BoolOmit              *BoolOmitCase              `json:"bool_omit,omitempty"`
	BoolBoolean           *BoolBooleanCase           `json:"bool_boolean,omitempty"`
	ListRequired          *ListRequiredCase          `json:"list_required,omitempty"`
	ListDefault           *ListDefaultCase           `json:"list_default,omitempty"`
	ListLen               *ListLenCase               `json:"list_len,omitempty"`
	ListLenZero           *ListLenZeroCase           `json:"list_len_zero,omitempty"`
	ListMin               *ListMinCase               `json:"list_min,omitempty"`
	ListMax               *ListMaxCase               `json:"list_max,omitempty"`
	ListGt                *ListGtCase                `json:"list_gt,omitempty"`
	ListLt                *ListLtCase                `json:"list_lt,omitempty"`
	ListEq                *ListEqCase                `json:"list_eq,omitempty"`
	ListNe                *ListNeCase                `json:"list_ne,omitempty"`
	ListUnique            *ListUniqueCase            `json:"list_unique,omitempty"`
	ListUniqueText        *ListUniqueTextCase        `json:"list_unique_text,omitempty"`
	ListUniqueID          *ListUniqueIDCase          `json:"list_unique_id,omitempty"`
	ListUniquePtr         *ListUniquePtrCase         `json:"list_unique_ptr,omitempty"`
	ListUniqueTime        *ListUniqueTimeCase        `json:"list_unique_time,omitempty"`
	ListUniqueStruct      *ListUniqueStructCase      `json:"list_unique_struct,omitempty"`
	ListUniqueField       *ListUniqueFieldCase       `json:"list_unique_field,omitempty"`
	ListUniqueArray       *ListUniqueArrayCase       `json:"list_unique_array,omitempty"`
	ListOmit              *ListOmitCase              `json:"list_omit,omitempty"`
	ListOmitZero          *ListOmitZeroCase          `json:"list_omit_zero,omitempty"`
	ListOmitNil           *ListOmitNilCase           `json:"list_omit_nil,omitempty"`
	ListDive              *ListDiveCase              `json:"list_dive,omitempty"`
	ListDiveNone          *ListDiveNoneCase          `json:"list_dive_none,omitempty"`
	ListNoDive            *ListNoDiveCase            `json:"list_no_dive,omitempty"`
	ListDivePtr           *ListDivePtrCase           `json:"list_dive_ptr,omitempty"`
	ListDiveReq           *ListDiveReqCase           `json:"list_dive_req,omitempty"`
	ListDeep              *ListDeepCase              `json:"list_deep,omitempty"`
	ListOr                *ListOrCase                `json:"list_or,omitempty"`
	ListArray             *ListArrayCase             `json:"list_array,omitempty"`
	ListArrayDive         *ListArrayDiveCase         `json:"list_array_dive,omitempty"`
	ListArrayOmit         *ListArrayOmitCase         `json:"list_array_omit,omitempty"`
	ListArrayDefault      *ListArrayDefaultCase      `json:"list_array_default,omitempty"`
	ListArrayLen          *ListArrayLenCase          `json:"list_array_len,omitempty"`
	ListArrayTime         *ListArrayTimeCase         `json:"list_array_time,omitempty"`
	ListPlain             *ListPlainCase             `json:"list_plain,omitempty"`
	MapRequired           *MapRequiredCase           `json:"map_required,omitempty"`
	MapDefault            *MapDefaultCase            `json:"map_default,omitempty"`
	MapLen                *MapLenCase                `json:"map_len,omitempty"`
	MapMin                *MapMinCase                `json:"map_min,omitempty"`
	MapMax                *MapMaxCase                `json:"map_max,omitempty"`
	MapNe                 *MapNeCase                 `json:"map_ne,omitempty"`
	MapOmit               *MapOmitCase               `json:"map_omit,omitempty"`
	MapOmitZero           *MapOmitZeroCase           `json:"map_omit_zero,omitempty"`
	MapDive               *MapDiveCase               `json:"map_dive,omitempty"`
	MapKeys               *MapKeysCase               `json:"map_keys,omitempty"`
	MapKeysDive           *MapKeysDiveCase           `json:"map_keys_dive,omitempty"`
	MapStructs            *MapStructsCase            `json:"map_structs,omitempty"`
	MapKeysStructs        *MapKeysStructsCase        `json:"map_keys_structs,omitempty"`
	MapByID               *MapByIDCase               `json:"map_by_id,omitempty"`
	MapOneOf              *MapOneOfCase              `json:"map_one_of,omitempty"`
	BytesRequired         *BytesRequiredCase         `json:"bytes_required,omitempty"`
	BytesMin              *BytesMinCase              `json:"bytes_min,omitempty"`
	BytesMax              *BytesMaxCase              `json:"bytes_max,omitempty"`
	BytesLen              *BytesLenCase              `json:"bytes_len,omitempty"`
	BytesOmit             *BytesOmitCase             `json:"bytes_omit,omitempty"`
	BytesOmitZero         *BytesOmitZeroCase         `json:"bytes_omit_zero,omitempty"`
	BytesDefault          *BytesDefaultCase          `json:"bytes_default,omitempty"`
	BytesPlain            *BytesPlainCase            `json:"bytes_plain,omitempty"`
	IDRequired            *IDRequiredCase            `json:"idrequired,omitempty"`
	IDDefault             *IDDefaultCase             `json:"iddefault,omitempty"`
	IDOmit                *IDOmitCase                `json:"idomit,omitempty"`
	IDV4                  *IDV4Case                  `json:"idv4,omitempty"`
	IDV7                  *IDV7Case                  `json:"idv7,omitempty"`
	IDV5                  *IDV5Case                  `json:"idv5,omitempty"`
	IDAny                 *IDAnyCase                 `json:"idany,omitempty"`
	IDLen                 *IDLenCase                 `json:"idlen,omitempty"`
	IDPlain               *IDPlainCase               `json:"idplain,omitempty"`
	TimeRequired          *TimeRequiredCase          `json:"time_required,omitempty"`
	TimeDefault           *TimeDefaultCase           `json:"time_default,omitempty"`
	TimeOmit              *TimeOmitCase              `json:"time_omit,omitempty"`
	TimePast              *TimePastCase              `json:"time_past,omitempty"`
	TimePlain             *TimePlainCase             `json:"time_plain,omitempty"`
	StructPlain           *StructPlainCase           `json:"struct_plain,omitempty"`
	StructRequired        *StructRequiredCase        `json:"struct_required,omitempty"`
	StructRequiredChecked *StructRequiredCheckedCase `json:"struct_required_checked,omitempty"`
	StructDefault         *StructDefaultCase         `json:"struct_default,omitempty"`
	StructOmit            *StructOmitCase            `json:"struct_omit,omitempty"`
	StructOmitZero        *StructOmitZeroCase        `json:"struct_omit_zero,omitempty"`
	StructOnly            *StructOnlyCase            `json:"struct_only,omitempty"`
	StructNoLevel         *StructNoLevelCase         `json:"struct_no_level,omitempty"`
	StructSkip            *StructSkipCase            `json:"struct_skip,omitempty"`
	StructPtr             *StructPtrCase             `json:"struct_ptr,omitempty"`
	StructPtrOmit         *StructPtrOmitCase         `json:"struct_ptr_omit,omitempty"`
	StructPtrZero         *StructPtrZeroCase         `json:"struct_ptr_zero,omitempty"`
	StructPtrRequired     *StructPtrRequiredCase     `json:"struct_ptr_required,omitempty"`
	StructMixed           *StructMixedCase           `json:"struct_mixed,omitempty"`
	StructMixedRequired   *StructMixedRequiredCase   `json:"struct_mixed_required,omitempty"`
	StructMixedDefault    *StructMixedDefaultCase    `json:"struct_mixed_default,omitempty"`
	StructMixedOmit       *StructMixedOmitCase       `json:"struct_mixed_omit,omitempty"`
	OwnText               *OwnTextCase               `json:"own_text,omitempty"`
	OwnTextPtr            *OwnTextPtrCase            `json:"own_text_ptr,omitempty"`
	OwnRaw                *OwnRawCase                `json:"own_raw,omitempty"`
	OwnRawOmit            *OwnRawOmitCase            `json:"own_raw_omit,omitempty"`
	OwnValuer             *OwnValuerCase             `json:"own_valuer,omitempty"`
	OwnValuerInside       *OwnValuerInsideCase       `json:"own_valuer_inside,omitempty"`
	ArrayEq               *ArrayEqCase               `json:"array_eq,omitempty"`
	ArrayGt               *ArrayGtCase               `json:"array_gt,omitempty"`
	ArrayGte              *ArrayGteCase              `json:"array_gte,omitempty"`
	ArrayLt               *ArrayLtCase               `json:"array_lt,omitempty"`
	ArrayLte              *ArrayLteCase              `json:"array_lte,omitempty"`
	ArrayMin              *ArrayMinCase              `json:"array_min,omitempty"`
	ArrayMax              *ArrayMaxCase              `json:"array_max,omitempty"`
	ArrayNe               *ArrayNeCase               `json:"array_ne,omitempty"`
	BytesEq               *BytesEqCase               `json:"bytes_eq,omitempty"`
	BytesGt               *BytesGtCase               `json:"bytes_gt,omitempty"`
	BytesGte              *BytesGteCase              `json:"bytes_gte,omitempty"`
	BytesLt               *BytesLtCase               `json:"bytes_lt,omitempty"`
	BytesLte              *BytesLteCase              `json:"bytes_lte,omitempty"`
	MapEq                 *MapEqCase                 `json:"map_eq,omitempty"`
	MapGt                 *MapGtCase                 `json:"map_gt,omitempty"`
	MapGte                *MapGteCase                `json:"map_gte,omitempty"`
	MapLt                 *MapLtCase                 `json:"map_lt,omitempty"`
	MapLte                *MapLteCase                `json:"map_lte,omitempty"`
	ListGte               *ListGteCase               `json:"list_gte,omitempty"`
	ListLte               *ListLteCase               `json:"list_lte,omitempty"`
	FloatLte              *FloatLteCase              `json:"float_lte,omitempty"`
	FloatNumber           *FloatNumberCase           `json:"float_number,omitempty"`
	IntNumeric            *IntNumericCase            `json:"int_numeric,omitempty"`
	IDV3                  *IDV3Case                  `json:"idv3,omitempty"`
	IDV5Plain             *IDV5PlainCase             `json:"idv5_plain,omitempty"`
	IDRfc                 *IDRfcCase                 `json:"idrfc,omitempty"`
	IDRfc3                *IDRfc3Case                `json:"idrfc3,omitempty"`
	IDRfc4                *IDRfc4Case                `json:"idrfc4,omitempty"`
	Node                  *NodeCase                  `json:"node,omitempty"`
	NodePtr               *NodePtrCase               `json:"node_ptr,omitempty"`
	NodeRequired          *NodeRequiredCase          `json:"node_required,omitempty"`
	NodeOff               *NodeOffCase               `json:"node_off,omitempty"`
	Embeds                *EmbedsCase                `json:"embeds,omitempty"`
	EmbedsRequired        *EmbedsRequiredCase        `json:"embeds_required,omitempty"`
	EmbedsOmit            *EmbedsOmitCase            `json:"embeds_omit,omitempty"`
	Mood                  *MoodCase                  `json:"mood,omitempty"`
	MoodRequired          *MoodRequiredCase          `json:"mood_required,omitempty"`
	MoodNe                *MoodNeCase                `json:"mood_ne,omitempty"`
	MoodMax               *MoodMaxCase               `json:"mood_max,omitempty"`
	MoodPtr               *MoodPtrCase               `json:"mood_ptr,omitempty"`
	MoodNil               *MoodNilCase               `json:"mood_nil,omitempty"`
	Moods                 *MoodsCase                 `json:"moods,omitempty"`
	MoodsPlain            *MoodsPlainCase            `json:"moods_plain,omitempty"`
	MoodKeys              *MoodKeysCase              `json:"mood_keys,omitempty"`
	MoodBy                *MoodByCase                `json:"mood_by,omitempty"`
	Rank                  *RankCase                  `json:"rank,omitempty"`
	RankGt                *RankGtCase                `json:"rank_gt,omitempty"`
	RankEq                *RankEqCase                `json:"rank_eq,omitempty"`
	IntKeys               *IntKeysCase               `json:"int_keys,omitempty"`
	IntKeysMin            *IntKeysMinCase            `json:"int_keys_min,omitempty"`
	Anonymous             *AnonymousCase             `json:"anonymous,omitempty"`
	Anonymous2            *Anonymous2Case            `json:"anonymous2,omitempty"`
	Generic               *GenericCase               `json:"generic,omitempty"`
	GenericInt            *GenericIntCase            `json:"generic_int,omitempty"`
}

type (
	// Plain has no rules.
	Plain struct {
		A int    `json:"a"`
		B string `json:"b"`
	}
	// Checked has some.
	Checked struct {
		A int    `json:"a" validate:"min=1"`
		B string `json:"b" validate:"max=2"`
	}
	// Mixed has zero values that nobody can list.
	Mixed struct {
		A big.Int   `json:"a"`
		B []int     `json:"b"`
		C time.Time `json:"c"`
		D *int      `json:"d"`
		E Plain     `json:"e"`
	}
)

// Optional hands validator another value than itself.
type Optional struct {
	Set   bool   `json:"set"`
	Value string `json:"value"`
}

// ValidatorValue implements validator.Valuer.
func (o Optional) ValidatorValue() any { return o.Value }

// Executor does nothing.
//
//taskkit:executor ruled
type Executor struct{}

// Execute implements [taskkit.Executor].
func (Executor) Execute(context.Context, *taskkit.Batch[Spec, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

type (
	// Node contains itself, with rules and without.
	Node struct {
		Name     string          `json:"name" validate:"required,max=3"`
		Children []Node          `json:"children" validate:"max=2,dive"`
		Next     *Node           `json:"next"`
		By       map[string]Node `json:"by"`
		Forest   Forest          `json:"forest" validate:"max=2"`
	}
	// Forest is nothing but itself.
	Forest []Forest
	// Embeds promotes fields with rules.
	Embeds struct {
		Checked
		*Extra
		Own string `json:"own" validate:"max=4"`
	}
	// Extra is not there when nothing of it is.
	Extra struct {
		C string `json:"c" validate:"required"`
		D int    `json:"d"`
	}
	// Page is generic.
	Page[T any] struct {
		Items []T `json:"items" validate:"max=2,dive"`
		First T   `json:"first"`
	}
	// Mood is an enum.
	Mood string
	// Rank is an enum with a zero of its own.
	Rank uint8
)

// The moods.
const (
	Glad Mood = "glad"
	Sad  Mood = "sad"
)

// The ranks.
const (
	None Rank = iota
	First
	Second
)
