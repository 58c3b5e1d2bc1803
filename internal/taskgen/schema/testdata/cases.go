package ruled

import (
	"encoding/json"
	"math/big"
	"time"

	"github.com/google/uuid"
)

// The cases, each with its rules on V.
type (
	StrRequiredCase struct {
		V string `json:"v" validate:"required"`
	}
	StrDefaultCase struct {
		V string `json:"v" validate:"isdefault"`
	}
	StrLenCase struct {
		V string `json:"v" validate:"len=3"`
	}
	StrMinCase struct {
		V string `json:"v" validate:"min=2"`
	}
	StrMaxCase struct {
		V string `json:"v" validate:"max=3"`
	}
	StrGtCase struct {
		V string `json:"v" validate:"gt=1"`
	}
	StrGteCase struct {
		V string `json:"v" validate:"gte=0x2"`
	}
	StrLtCase struct {
		V string `json:"v" validate:"lt=3"`
	}
	StrLteCase struct {
		V string `json:"v" validate:"lte=2"`
	}
	StrLtZeroCase struct {
		V string `json:"v" validate:"lt=0"`
	}
	StrEqCase struct {
		V string `json:"v" validate:"eq=a0x2Cb"`
	}
	StrNeCase struct {
		V string `json:"v" validate:"ne=a"`
	}
	StrOneOfCase struct {
		V string `json:"v" validate:"oneof=red 'dark blue' it's"`
	}
	StrNoneOfCase struct {
		V string `json:"v" validate:"noneof=red blue"`
	}
	StrOneOfCICase struct {
		V string `json:"v" validate:"oneofci=red KISS"`
	}
	StrNoneOfCICase struct {
		V string `json:"v" validate:"noneofci=red"`
	}
	StrEqFoldCase struct {
		V string `json:"v" validate:"eq_ignore_case=Straße.k"`
	}
	StrNeFoldCase struct {
		V string `json:"v" validate:"ne_ignore_case=Red"`
	}
	StrContainsCase struct {
		V string `json:"v" validate:"contains=a.b"`
	}
	StrContainsAnyCase struct {
		V string `json:"v" validate:"containsany=^]-\\"`
	}
	StrContainsRuneCase struct {
		V string `json:"v" validate:"containsrune=é"`
	}
	StrExcludesCase struct {
		V string `json:"v" validate:"excludes=a.b"`
	}
	StrExcludesAllCase struct {
		V string `json:"v" validate:"excludesall=^]-\\"`
	}
	StrExcludesRuneCase struct {
		V string `json:"v" validate:"excludesrune=é"`
	}
	StrStartsCase struct {
		V string `json:"v" validate:"startswith=(a"`
	}
	StrEndsCase struct {
		V string `json:"v" validate:"endswith=b)"`
	}
	StrStartsNotCase struct {
		V string `json:"v" validate:"startsnotwith=(a"`
	}
	StrEndsNotCase struct {
		V string `json:"v" validate:"endsnotwith=b)"`
	}
	StrOmitCase struct {
		V string `json:"v" validate:"omitempty,min=3,max=5"`
	}
	StrOmitOneOfCase struct {
		V string `json:"v" validate:"omitempty,oneof=a b"`
	}
	StrRequiredOneOfCase struct {
		V string `json:"v" validate:"required,oneof=a b"`
	}
	StrOmitZeroCase struct {
		V string `json:"v" validate:"omitzero,email"`
	}
	StrOmitNilCase struct {
		V string `json:"v" validate:"omitnil,len=0|len=2"`
	}
	StrLateCase struct {
		V string `json:"v" validate:"max=5,omitempty,min=2"`
	}
	StrOrCase struct {
		V string `json:"v" validate:"len=0|startswith=x|eq=0x7C"`
	}
	StrOrUnmappedCase struct {
		V string `json:"v" validate:"cron|len=0"`
	}
	StrOrEqCase struct {
		V string `json:"v" validate:"eq=a b|oneof=c d"`
	}
	StrTwoCase struct {
		V string `json:"v" validate:"alpha,min=2,max=4"`
	}
	StrBoundsCase struct {
		V string `json:"v" validate:"min=2,min=3,max=9,max=5"`
	}
	StrPatternsCase struct {
		V string `json:"v" validate:"alphanum,startswith=a,endswith=z"`
	}
	StrSiblingCase struct {
		V string `json:"v" validate:"required_without=W"`
		W string `json:"w"`
	}
	StrCronCase struct {
		V string `json:"v" validate:"cron"`
	}
	StrSkipCase struct {
		V string `json:"v" validate:"-"`
	}
	StrDatetimeCase struct {
		V string `json:"v" validate:"datetime=2006-01-02"`
	}
	StrClockCase struct {
		V string `json:"v" validate:"datetime=15:04"`
	}
	IsAlphaCase struct {
		V string `json:"v" validate:"alpha"`
	}
	IsAlphaspaceCase struct {
		V string `json:"v" validate:"alphaspace"`
	}
	IsAlphanumCase struct {
		V string `json:"v" validate:"alphanum"`
	}
	IsAlphanumspaceCase struct {
		V string `json:"v" validate:"alphanumspace"`
	}
	IsAlphaunicodeCase struct {
		V string `json:"v" validate:"alphaunicode"`
	}
	IsAlphanumunicodeCase struct {
		V string `json:"v" validate:"alphanumunicode"`
	}
	IsAsciiCase struct {
		V string `json:"v" validate:"ascii"`
	}
	IsPrintasciiCase struct {
		V string `json:"v" validate:"printascii"`
	}
	IsMultibyteCase struct {
		V string `json:"v" validate:"multibyte"`
	}
	IsNumericCase struct {
		V string `json:"v" validate:"numeric"`
	}
	IsNumberCase struct {
		V string `json:"v" validate:"number"`
	}
	IsHexadecimalCase struct {
		V string `json:"v" validate:"hexadecimal"`
	}
	IsHexcolorCase struct {
		V string `json:"v" validate:"hexcolor"`
	}
	IsE164Case struct {
		V string `json:"v" validate:"e164"`
	}
	IsLatitudeCase struct {
		V string `json:"v" validate:"latitude"`
	}
	IsLongitudeCase struct {
		V string `json:"v" validate:"longitude"`
	}
	IsBooleanCase struct {
		V string `json:"v" validate:"boolean"`
	}
	IsUuidCase struct {
		V string `json:"v" validate:"uuid"`
	}
	IsUuidRfc4122Case struct {
		V string `json:"v" validate:"uuid_rfc4122"`
	}
	IsUuid3Case struct {
		V string `json:"v" validate:"uuid3"`
	}
	IsUuid4Case struct {
		V string `json:"v" validate:"uuid4"`
	}
	IsUuid5Case struct {
		V string `json:"v" validate:"uuid5"`
	}
	IsUuid7Case struct {
		V string `json:"v" validate:"uuid7"`
	}
	IsUuid3Rfc4122Case struct {
		V string `json:"v" validate:"uuid3_rfc4122"`
	}
	IsUuid4Rfc4122Case struct {
		V string `json:"v" validate:"uuid4_rfc4122"`
	}
	IsUuid5Rfc4122Case struct {
		V string `json:"v" validate:"uuid5_rfc4122"`
	}
	IsUlidCase struct {
		V string `json:"v" validate:"ulid"`
	}
	IsMd4Case struct {
		V string `json:"v" validate:"md4"`
	}
	IsMd5Case struct {
		V string `json:"v" validate:"md5"`
	}
	IsRipemd128Case struct {
		V string `json:"v" validate:"ripemd128"`
	}
	IsRipemd160Case struct {
		V string `json:"v" validate:"ripemd160"`
	}
	IsSha256Case struct {
		V string `json:"v" validate:"sha256"`
	}
	IsSha384Case struct {
		V string `json:"v" validate:"sha384"`
	}
	IsSha512Case struct {
		V string `json:"v" validate:"sha512"`
	}
	IsTiger128Case struct {
		V string `json:"v" validate:"tiger128"`
	}
	IsTiger160Case struct {
		V string `json:"v" validate:"tiger160"`
	}
	IsTiger192Case struct {
		V string `json:"v" validate:"tiger192"`
	}
	IsBase32Case struct {
		V string `json:"v" validate:"base32"`
	}
	IsBase64Case struct {
		V string `json:"v" validate:"base64"`
	}
	IsBase64urlCase struct {
		V string `json:"v" validate:"base64url"`
	}
	IsBase64rawurlCase struct {
		V string `json:"v" validate:"base64rawurl"`
	}
	IsJwtCase struct {
		V string `json:"v" validate:"jwt"`
	}
	IsSemverCase struct {
		V string `json:"v" validate:"semver"`
	}
	IsCveCase struct {
		V string `json:"v" validate:"cve"`
	}
	IsEinCase struct {
		V string `json:"v" validate:"ein"`
	}
	IsBicCase struct {
		V string `json:"v" validate:"bic"`
	}
	IsBicIso93622014Case struct {
		V string `json:"v" validate:"bic_iso_9362_2014"`
	}
	IsMongodbCase struct {
		V string `json:"v" validate:"mongodb"`
	}
	IsEthAddrCase struct {
		V string `json:"v" validate:"eth_addr"`
	}
	IsSsnCase struct {
		V string `json:"v" validate:"ssn"`
	}
	IsHostnameCase struct {
		V string `json:"v" validate:"hostname"`
	}
	IsHostnameRfc1123Case struct {
		V string `json:"v" validate:"hostname_rfc1123"`
	}
	IsHostnameLabelCase struct {
		V string `json:"v" validate:"hostname_label"`
	}
	IsDnsRfc1035LabelCase struct {
		V string `json:"v" validate:"dns_rfc1035_label"`
	}
	IsFqdnCase struct {
		V string `json:"v" validate:"fqdn"`
	}
	IsHtmlCase struct {
		V string `json:"v" validate:"html"`
	}
	IsHtmlEncodedCase struct {
		V string `json:"v" validate:"html_encoded"`
	}
	IsUrlEncodedCase struct {
		V string `json:"v" validate:"url_encoded"`
	}
	IsIpCase struct {
		V string `json:"v" validate:"ip"`
	}
	IsIpv4Case struct {
		V string `json:"v" validate:"ipv4"`
	}
	IsIpv6Case struct {
		V string `json:"v" validate:"ipv6"`
	}
	IsEmailCase struct {
		V string `json:"v" validate:"email"`
	}
	IsUrlCase struct {
		V string `json:"v" validate:"url"`
	}
	IsHttpUrlCase struct {
		V string `json:"v" validate:"http_url"`
	}
	IsHttpsUrlCase struct {
		V string `json:"v" validate:"https_url"`
	}
	IsOriginCase struct {
		V string `json:"v" validate:"origin"`
	}
	IsUriCase struct {
		V string `json:"v" validate:"uri"`
	}
	IsMacCase struct {
		V string `json:"v" validate:"mac"`
	}
	IsCidrCase struct {
		V string `json:"v" validate:"cidr"`
	}
	IsCidrv4Case struct {
		V string `json:"v" validate:"cidrv4"`
	}
	IsCidrv6Case struct {
		V string `json:"v" validate:"cidrv6"`
	}
	IsLowercaseCase struct {
		V string `json:"v" validate:"lowercase"`
	}
	IsUppercaseCase struct {
		V string `json:"v" validate:"uppercase"`
	}
	IsJsonCase struct {
		V string `json:"v" validate:"json"`
	}
	IsTimezoneCase struct {
		V string `json:"v" validate:"timezone"`
	}
	IsIsbnCase struct {
		V string `json:"v" validate:"isbn"`
	}
	IsIsbn10Case struct {
		V string `json:"v" validate:"isbn10"`
	}
	IsIsbn13Case struct {
		V string `json:"v" validate:"isbn13"`
	}
	IsIssnCase struct {
		V string `json:"v" validate:"issn"`
	}
	IsCreditCardCase struct {
		V string `json:"v" validate:"credit_card"`
	}
	IsLuhnChecksumCase struct {
		V string `json:"v" validate:"luhn_checksum"`
	}
	IsDatauriCase struct {
		V string `json:"v" validate:"datauri"`
	}
	IsHostnamePortCase struct {
		V string `json:"v" validate:"hostname_port"`
	}
	IsBtcAddrCase struct {
		V string `json:"v" validate:"btc_addr"`
	}
	IsBtcAddrBech32Case struct {
		V string `json:"v" validate:"btc_addr_bech32"`
	}
	IsEthAddrChecksumCase struct {
		V string `json:"v" validate:"eth_addr_checksum"`
	}
	PtrRequiredCase struct {
		V *string `json:"v" validate:"required"`
	}
	PtrDefaultCase struct {
		V *string `json:"v" validate:"isdefault"`
	}
	PtrOmitCase struct {
		V *string `json:"v" validate:"omitempty,min=2"`
	}
	PtrMinCase struct {
		V *string `json:"v" validate:"min=2"`
	}
	PtrZeroCase struct {
		V *string `json:"v" validate:"omitzero,min=2"`
	}
	PtrOneOfCase struct {
		V *string `json:"v" validate:"omitempty,oneof=a b"`
	}
	PtrEmailCase struct {
		V *string `json:"v" validate:"omitempty,alpha|len=0"`
	}
	PtrIntCase struct {
		V *int `json:"v" validate:"omitempty,ne=3"`
	}
	PtrIntRequiredCase struct {
		V *int `json:"v" validate:"required,max=3"`
	}
	PtrPlainCase struct {
		V *int `json:"v"`
	}
	IntRequiredCase struct {
		V int `json:"v" validate:"required"`
	}
	IntDefaultCase struct {
		V int `json:"v" validate:"isdefault"`
	}
	IntLenCase struct {
		V int8 `json:"v" validate:"len=3"`
	}
	IntMinCase struct {
		V int8 `json:"v" validate:"min=-2"`
	}
	IntMaxCase struct {
		V int16 `json:"v" validate:"max=1_00"`
	}
	IntGtCase struct {
		V int `json:"v" validate:"gt=-1"`
	}
	IntLtCase struct {
		V int32 `json:"v" validate:"lt=5"`
	}
	IntGteCase struct {
		V uint8 `json:"v" validate:"gte=3"`
	}
	IntLteCase struct {
		V uint `json:"v" validate:"lte=200"`
	}
	IntGtUintCase struct {
		V uint16 `json:"v" validate:"gt=3,lt=7"`
	}
	IntEqCase struct {
		V int `json:"v" validate:"eq=0x10"`
	}
	IntNeCase struct {
		V int64 `json:"v" validate:"ne=3"`
	}
	IntOneOfCase struct {
		V int `json:"v" validate:"oneof=1 02 3 -4"`
	}
	IntOneOfUintCase struct {
		V uint8 `json:"v" validate:"oneof=1 300 3"`
	}
	IntNoneOfCase struct {
		V int `json:"v" validate:"noneof=1 2"`
	}
	IntOmitCase struct {
		V int `json:"v" validate:"omitempty,min=3"`
	}
	IntOmitOneOfCase struct {
		V uint64 `json:"v" validate:"omitempty,oneof=2 4"`
	}
	IntPortCase struct {
		V int `json:"v" validate:"port"`
	}
	IntPortUintCase struct {
		V uint64 `json:"v" validate:"port"`
	}
	IntLatitudeCase struct {
		V int `json:"v" validate:"latitude"`
	}
	IntLongitudeCase struct {
		V int16 `json:"v" validate:"longitude"`
	}
	IntNumberCase struct {
		V int `json:"v" validate:"number"`
	}
	IntHugeCase struct {
		V uint64 `json:"v" validate:"max=18446744073709551615"`
	}
	IntOrCase struct {
		V int `json:"v" validate:"eq=3|min=100"`
	}
	IntWaitCase struct {
		V time.Duration `json:"v" validate:"min=1ms,max=1h"`
	}
	IntWaitEqCase struct {
		V time.Duration `json:"v" validate:"eq=0|eq=5s"`
	}
	IntPlainCase struct {
		V int8 `json:"v"`
	}
	IntLuhnCase struct {
		V int `json:"v" validate:"luhn_checksum"`
	}
	FloatRequiredCase struct {
		V float64 `json:"v" validate:"required"`
	}
	FloatDefaultCase struct {
		V float32 `json:"v" validate:"isdefault"`
	}
	FloatMinCase struct {
		V float64 `json:"v" validate:"min=0.5"`
	}
	FloatMaxCase struct {
		V float32 `json:"v" validate:"max=0.1"`
	}
	FloatGtCase struct {
		V float64 `json:"v" validate:"gt=-1e3"`
	}
	FloatLtCase struct {
		V float64 `json:"v" validate:"lt=1e2"`
	}
	FloatEqCase struct {
		V float32 `json:"v" validate:"eq=0.25"`
	}
	FloatNeCase struct {
		V float64 `json:"v" validate:"ne=0.5"`
	}
	FloatLenCase struct {
		V float64 `json:"v" validate:"len=2"`
	}
	FloatOmitCase struct {
		V float64 `json:"v" validate:"omitempty,gte=1"`
	}
	FloatLatitudeCase struct {
		V float64 `json:"v" validate:"latitude"`
	}
	FloatLongitudeCase struct {
		V float32 `json:"v" validate:"longitude"`
	}
	FloatInfCase struct {
		V float64 `json:"v" validate:"max=inf"`
	}
	FloatNumericCase struct {
		V float64 `json:"v" validate:"numeric"`
	}
	FloatPlainCase struct {
		V float32 `json:"v"`
	}
	BoolRequiredCase struct {
		V bool `json:"v" validate:"required"`
	}
	BoolDefaultCase struct {
		V bool `json:"v" validate:"isdefault"`
	}
	BoolEqCase struct {
		V bool `json:"v" validate:"eq=true"`
	}
	BoolNeCase struct {
		V bool `json:"v" validate:"ne=t"`
	}
	BoolOmitCase struct {
		V bool `json:"v" validate:"omitempty,eq=true"`
	}
	BoolBooleanCase struct {
		V bool `json:"v" validate:"boolean"`
	}
	ListRequiredCase struct {
		V []int `json:"v" validate:"required"`
	}
	ListDefaultCase struct {
		V []int `json:"v" validate:"isdefault"`
	}
	ListLenCase struct {
		V []int `json:"v" validate:"len=2"`
	}
	ListLenZeroCase struct {
		V []int `json:"v" validate:"len=0"`
	}
	ListMinCase struct {
		V []int `json:"v" validate:"min=1"`
	}
	ListMaxCase struct {
		V []int `json:"v" validate:"max=2"`
	}
	ListGtCase struct {
		V []int `json:"v" validate:"gt=1"`
	}
	ListLtCase struct {
		V []int `json:"v" validate:"lt=2"`
	}
	ListEqCase struct {
		V []int `json:"v" validate:"eq=1"`
	}
	ListNeCase struct {
		V []int `json:"v" validate:"ne=1"`
	}
	ListUniqueCase struct {
		V []int `json:"v" validate:"unique"`
	}
	ListUniqueTextCase struct {
		V []string `json:"v" validate:"unique"`
	}
	ListUniqueIDCase struct {
		V []uuid.UUID `json:"v" validate:"unique"`
	}
	ListUniquePtrCase struct {
		V []*int `json:"v" validate:"unique"`
	}
	ListUniqueTimeCase struct {
		V []time.Time `json:"v" validate:"unique"`
	}
	ListUniqueStructCase struct {
		V []Plain `json:"v" validate:"unique"`
	}
	ListUniqueFieldCase struct {
		V []Plain `json:"v" validate:"unique=A"`
	}
	ListUniqueArrayCase struct {
		V [2]int `json:"v" validate:"unique"`
	}
	ListOmitCase struct {
		V []int `json:"v" validate:"omitempty,min=2"`
	}
	ListOmitZeroCase struct {
		V []int `json:"v" validate:"omitzero,min=2"`
	}
	ListOmitNilCase struct {
		V []int `json:"v" validate:"omitnil,len=1"`
	}
	ListDiveCase struct {
		V []string `json:"v" validate:"dive,required,max=2"`
	}
	ListDiveNoneCase struct {
		V []Checked `json:"v" validate:"dive"`
	}
	ListNoDiveCase struct {
		V []Checked `json:"v"`
	}
	ListDivePtrCase struct {
		V []*Checked `json:"v" validate:"dive"`
	}
	ListDiveReqCase struct {
		V []*Checked `json:"v" validate:"dive,required"`
	}
	ListDeepCase struct {
		V [][]int `json:"v" validate:"max=2,dive,min=1,dive,max=3"`
	}
	ListOrCase struct {
		V []int `json:"v" validate:"len=0|min=2"`
	}
	ListArrayCase struct {
		V [2]int `json:"v" validate:"required"`
	}
	ListArrayDiveCase struct {
		V [2]int `json:"v" validate:"dive,min=1"`
	}
	ListArrayOmitCase struct {
		V [2]int `json:"v" validate:"omitempty,dive,min=1"`
	}
	ListArrayDefaultCase struct {
		V [2]int `json:"v" validate:"isdefault"`
	}
	ListArrayLenCase struct {
		V [2]int `json:"v" validate:"len=2"`
	}
	ListArrayTimeCase struct {
		V [1]time.Time `json:"v" validate:"required"`
	}
	ListPlainCase struct {
		V []int `json:"v"`
	}
	MapRequiredCase struct {
		V map[string]int `json:"v" validate:"required"`
	}
	MapDefaultCase struct {
		V map[string]int `json:"v" validate:"isdefault"`
	}
	MapLenCase struct {
		V map[string]int `json:"v" validate:"len=2"`
	}
	MapMinCase struct {
		V map[string]int `json:"v" validate:"min=1"`
	}
	MapMaxCase struct {
		V map[string]int `json:"v" validate:"max=1"`
	}
	MapNeCase struct {
		V map[string]int `json:"v" validate:"ne=1"`
	}
	MapOmitCase struct {
		V map[string]int `json:"v" validate:"omitempty,min=2"`
	}
	MapOmitZeroCase struct {
		V map[string]int `json:"v" validate:"omitzero,min=2"`
	}
	MapDiveCase struct {
		V map[string]int `json:"v" validate:"dive,min=3"`
	}
	MapKeysCase struct {
		V map[string]int `json:"v" validate:"dive,keys,max=2,endkeys"`
	}
	MapKeysDiveCase struct {
		V map[string]int `json:"v" validate:"dive,keys,alpha|eq=_,endkeys,min=3"`
	}
	MapStructsCase struct {
		V map[string]Checked `json:"v" validate:"dive"`
	}
	MapKeysStructsCase struct {
		V map[string]*Checked `json:"v" validate:"dive,keys,min=1,endkeys"`
	}
	MapByIDCase struct {
		V map[uuid.UUID]int `json:"v" validate:"min=1"`
	}
	MapOneOfCase struct {
		V map[string]int `json:"v" validate:"dive,keys,oneof=a b,endkeys"`
	}
	BytesRequiredCase struct {
		V []byte `json:"v" validate:"required"`
	}
	BytesMinCase struct {
		V []byte `json:"v" validate:"min=4"`
	}
	BytesMaxCase struct {
		V []byte `json:"v" validate:"max=2"`
	}
	BytesLenCase struct {
		V []byte `json:"v" validate:"len=3"`
	}
	BytesOmitCase struct {
		V []byte `json:"v" validate:"omitempty,min=2"`
	}
	BytesOmitZeroCase struct {
		V []byte `json:"v" validate:"omitzero,min=2"`
	}
	BytesDefaultCase struct {
		V []byte `json:"v" validate:"isdefault"`
	}
	BytesPlainCase struct {
		V []byte `json:"v"`
	}
	IDRequiredCase struct {
		V uuid.UUID `json:"v" validate:"required"`
	}
	IDDefaultCase struct {
		V uuid.UUID `json:"v" validate:"isdefault"`
	}
	IDOmitCase struct {
		V uuid.UUID `json:"v" validate:"omitempty,uuid4"`
	}
	IDV4Case struct {
		V uuid.UUID `json:"v" validate:"uuid4"`
	}
	IDV7Case struct {
		V uuid.UUID `json:"v" validate:"uuid7"`
	}
	IDV5Case struct {
		V uuid.UUID `json:"v" validate:"uuid5_rfc4122"`
	}
	IDAnyCase struct {
		V uuid.UUID `json:"v" validate:"uuid"`
	}
	IDLenCase struct {
		V uuid.UUID `json:"v" validate:"len=16"`
	}
	IDPlainCase struct {
		V uuid.UUID `json:"v"`
	}
	TimeRequiredCase struct {
		V time.Time `json:"v" validate:"required"`
	}
	TimeDefaultCase struct {
		V time.Time `json:"v" validate:"isdefault"`
	}
	TimeOmitCase struct {
		V time.Time `json:"v" validate:"omitempty,lt"`
	}
	TimePastCase struct {
		V time.Time `json:"v" validate:"lt"`
	}
	TimePlainCase struct {
		V time.Time `json:"v"`
	}
	StructPlainCase struct {
		V Checked `json:"v"`
	}
	StructRequiredCase struct {
		V Plain `json:"v" validate:"required"`
	}
	StructRequiredCheckedCase struct {
		V Checked `json:"v" validate:"required"`
	}
	StructDefaultCase struct {
		V Plain `json:"v" validate:"isdefault"`
	}
	StructOmitCase struct {
		V Checked `json:"v" validate:"omitempty"`
	}
	StructOmitZeroCase struct {
		V Checked `json:"v" validate:"omitzero"`
	}
	StructOnlyCase struct {
		V Checked `json:"v" validate:"structonly"`
	}
	StructNoLevelCase struct {
		V Checked `json:"v" validate:"nostructlevel"`
	}
	StructSkipCase struct {
		V Checked `json:"v" validate:"-"`
	}
	StructPtrCase struct {
		V *Checked `json:"v"`
	}
	StructPtrOmitCase struct {
		V *Checked `json:"v" validate:"omitempty"`
	}
	StructPtrZeroCase struct {
		V *Checked `json:"v" validate:"omitzero"`
	}
	StructPtrRequiredCase struct {
		V *Checked `json:"v" validate:"required"`
	}
	StructMixedCase struct {
		V Mixed `json:"v"`
	}
	StructMixedRequiredCase struct {
		V Mixed `json:"v" validate:"required"`
	}
	StructMixedDefaultCase struct {
		V Mixed `json:"v" validate:"isdefault"`
	}
	StructMixedOmitCase struct {
		V Mixed `json:"v" validate:"omitempty"`
	}
	OwnTextCase struct {
		V big.Int `json:"v" validate:"required"`
	}
	OwnTextPtrCase struct {
		V *big.Int `json:"v" validate:"omitempty"`
	}
	OwnRawCase struct {
		V json.RawMessage `json:"v" validate:"required"`
	}
	OwnRawOmitCase struct {
		V json.RawMessage `json:"v" validate:"omitempty,min=5"`
	}
	OwnValuerCase struct {
		V Optional `json:"v" validate:"required,max=2"`
	}
	OwnValuerInsideCase struct {
		V []Optional `json:"v" validate:"dive,required"`
	}
	ArrayEqCase struct {
		V [2]int `json:"v" validate:"eq=2"`
	}
	ArrayGtCase struct {
		V [2]int `json:"v" validate:"gt=1"`
	}
	ArrayGteCase struct {
		V [2]int `json:"v" validate:"gte=2"`
	}
	ArrayLtCase struct {
		V [2]int `json:"v" validate:"lt=3"`
	}
	ArrayLteCase struct {
		V [2]int `json:"v" validate:"lte=2"`
	}
	ArrayMinCase struct {
		V [2]int `json:"v" validate:"min=2"`
	}
	ArrayMaxCase struct {
		V [2]int `json:"v" validate:"max=2"`
	}
	ArrayNeCase struct {
		V [2]int `json:"v" validate:"ne=3"`
	}
	BytesEqCase struct {
		V []byte `json:"v" validate:"eq=3"`
	}
	BytesGtCase struct {
		V []byte `json:"v" validate:"gt=3"`
	}
	BytesGteCase struct {
		V []byte `json:"v" validate:"gte=1"`
	}
	BytesLtCase struct {
		V []byte `json:"v" validate:"lt=4"`
	}
	BytesLteCase struct {
		V []byte `json:"v" validate:"lte=2"`
	}
	MapEqCase struct {
		V map[string]int `json:"v" validate:"eq=1"`
	}
	MapGtCase struct {
		V map[string]int `json:"v" validate:"gt=1"`
	}
	MapGteCase struct {
		V map[string]int `json:"v" validate:"gte=1"`
	}
	MapLtCase struct {
		V map[string]int `json:"v" validate:"lt=2"`
	}
	MapLteCase struct {
		V map[string]int `json:"v" validate:"lte=1"`
	}
	ListGteCase struct {
		V []int `json:"v" validate:"gte=1"`
	}
	ListLteCase struct {
		V []int `json:"v" validate:"lte=1"`
	}
	FloatLteCase struct {
		V float32 `json:"v" validate:"lte=0.5"`
	}
	FloatNumberCase struct {
		V float32 `json:"v" validate:"number"`
	}
	IntNumericCase struct {
		V uint8 `json:"v" validate:"numeric"`
	}
	IDV3Case struct {
		V uuid.UUID `json:"v" validate:"uuid3"`
	}
	IDV5PlainCase struct {
		V uuid.UUID `json:"v" validate:"uuid5"`
	}
	IDRfcCase struct {
		V uuid.UUID `json:"v" validate:"uuid_rfc4122"`
	}
	IDRfc3Case struct {
		V uuid.UUID `json:"v" validate:"uuid3_rfc4122"`
	}
	IDRfc4Case struct {
		V uuid.UUID `json:"v" validate:"uuid4_rfc4122"`
	}
	NodeCase struct {
		V Node `json:"v"`
	}
	NodePtrCase struct {
		V *Node `json:"v" validate:"omitempty"`
	}
	NodeRequiredCase struct {
		V Node `json:"v" validate:"required"`
	}
	NodeOffCase struct {
		V Node `json:"v" validate:"-"`
	}
	EmbedsCase struct {
		V Embeds `json:"v"`
	}
	EmbedsRequiredCase struct {
		V Embeds `json:"v" validate:"required"`
	}
	EmbedsOmitCase struct {
		V Embeds `json:"v" validate:"omitempty"`
	}
	MoodCase struct {
		V Mood `json:"v"`
	}
	MoodRequiredCase struct {
		V Mood `json:"v" validate:"required"`
	}
	MoodNeCase struct {
		V Mood `json:"v" validate:"omitempty,ne=sad"`
	}
	MoodMaxCase struct {
		V Mood `json:"v" validate:"max=3"`
	}
	MoodPtrCase struct {
		V *Mood `json:"v" validate:"required"`
	}
	MoodNilCase struct {
		V *Mood `json:"v" validate:"omitempty"`
	}
	MoodsCase struct {
		V []Mood `json:"v" validate:"dive,required"`
	}
	MoodsPlainCase struct {
		V []Mood `json:"v"`
	}
	MoodKeysCase struct {
		V map[Mood]int `json:"v" validate:"dive,keys,required,endkeys"`
	}
	MoodByCase struct {
		V map[Mood]int `json:"v"`
	}
	RankCase struct {
		V Rank `json:"v"`
	}
	RankGtCase struct {
		V Rank `json:"v" validate:"gt=1"`
	}
	RankEqCase struct {
		V Rank `json:"v" validate:"eq=2"`
	}
	IntKeysCase struct {
		V map[int]int `json:"v"`
	}
	IntKeysMinCase struct {
		V map[int8]int `json:"v" validate:"min=1,dive,keys,min=3,endkeys"`
	}
	AnonymousCase struct {
		V struct {
			A int    `json:"a" validate:"min=1"`
			B string `json:"b"`
		} `json:"v"`
	}
	Anonymous2Case struct {
		V []struct {
			A int    `json:"a" validate:"min=1"`
			B string `json:"b"`
		} `json:"v" validate:"dive"`
	}
	GenericCase struct {
		V Page[Checked] `json:"v"`
	}
	GenericIntCase struct {
		V Page[int] `json:"v" validate:"required"`
	}
)
