package taskjson

import "time"

// Time writes a time as RFC 3339 has it, with all its nanoseconds.
func (e *Encoder) Time(v time.Time) {
	year, month, day := v.Date()
	if v.Location() != time.UTC || year < 0 || year > 9999 {
		e.anyTime(v)
		return
	}
	hour, minute, second := v.Clock()
	at := len(e.buf)
	out := (*[len(`"2006-01-02T15:04:05.999999999Z"`)]byte)(e.extend(len(`"2006-01-02T15:04:05.999999999Z"`)))
	out[0] = '"'
	twoDigits(out[1:], year/100)
	twoDigits(out[3:], year%100)
	out[5] = '-'
	twoDigits(out[6:], int(month))
	out[8] = '-'
	twoDigits(out[9:], day)
	out[11] = 'T'
	twoDigits(out[12:], hour)
	out[14] = ':'
	twoDigits(out[15:], minute)
	out[17] = ':'
	twoDigits(out[18:], second)
	end := 20
	if nano := v.Nanosecond(); nano > 0 {
		out[end] = '.'
		for i := 9; i > 0; i-- {
			out[end+i] = byte('0' + nano%10)
			nano /= 10
		}
		end = 30
		for out[end-1] == '0' {
			end--
		}
	}
	out[end], out[end+1] = 'Z', '"'
	e.buf = e.buf[:at+end+2]
}

// twoDigits writes a number below 100.
func twoDigits(out []byte, n int) {
	out[0], out[1] = byte('0'+n/10), byte('0'+n%10)
}

// anyTime is Time for a time in any zone, and for one that is refused.
func (e *Encoder) anyTime(v time.Time) {
	e.buf = append(e.buf, '"')
	out, err := v.AppendText(e.buf)
	if err != nil {
		e.buf = e.buf[:len(e.buf)-1]
		e.fail(OutOfRange, "this time cannot be written as RFC 3339", err)
		return
	}
	e.buf = out
	e.buf = append(e.buf, '"')
}

// Time reads a time as RFC 3339 has it.
func (d *Decoder) Time() (t time.Time) {
	start := d.pos
	if d.quoted("a time") == nil {
		return t
	}
	text := d.src[start:d.pos] // with its quotes and escapes
	if t, ok := usualTime(text); ok {
		return t
	}
	// UnmarshalJSON is stricter than Parse.
	if err := t.UnmarshalJSON(text); err != nil {
		d.fail(InvalidValue, "want a time such as 2006-01-02T15:04:05Z", err)
	}
	return t
}

// usualTime reads a time of UTC, in quotes, and reports whether it is one. It leaves
// the last days of months to others.
func usualTime(s []byte) (t time.Time, ok bool) {
	const least = len(`"2006-01-02T15:04:05Z"`)
	n := len(s)
	if n < least || s[5] != '-' || s[8] != '-' || s[11] != 'T' || s[14] != ':' || s[17] != ':' || s[n-2] != 'Z' {
		return t, false
	}
	century, year := number2(s[1:]), number2(s[3:])
	month, day := number2(s[6:]), number2(s[9:])
	hour, minute, second := number2(s[12:]), number2(s[15:]), number2(s[18:])
	if max(century, year) > 99 || month-1 > 11 || day-1 > 27 || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	nano := 0
	if n > least {
		fraction := s[21 : n-2]
		if s[20] != '.' || len(fraction) == 0 || len(fraction) > 9 {
			return t, false
		}
		for i := range 9 {
			digit := byte('0')
			if i < len(fraction) {
				digit = fraction[i]
			}
			if digit-'0' > 9 {
				return t, false
			}
			nano = nano*10 + int(digit-'0')
		}
	}
	return time.Date(int(century*100+year), time.Month(month), int(day), int(hour), int(minute), int(second), nano, time.UTC), true
}

// number2 reads two digits. It returns 100 or more for anything else.
func number2(s []byte) uint {
	high, low := uint(s[0]-'0'), uint(s[1]-'0')
	if high > 9 || low > 9 {
		return 100
	}
	return high*10 + low
}
