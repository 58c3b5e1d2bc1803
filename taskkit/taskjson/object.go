package taskjson

// Object is the progress of reading an object with known fields, see [Decoder.Object].
type Object struct {
	// Field is the index of the field that Next has found.
	Field int
	names []string
	seen  uint64   // the first 64 fields that were read
	more  []uint64 // the others
}

// Object begins to read an object whose fields have names. The caller reads the value of
// each field that [Decoder.Next] finds:
//
//	o := d.Object(names)
//	for d.Next(&o) {
//		switch o.Field {
//		case 0:
//			v.Name = d.String()
//		}
//	}
func (d *Decoder) Object(names []string) Object {
	d.BeginObject()
	o := Object{Field: -1, names: names}
	if len(names) > 64 {
		o.more = make([]uint64, (len(names)-1)/64)
	}
	return o
}

// Next goes to the value of the next field. At the end of the object, which it reads, and
// after an error it returns false. Unknown and repeated names are errors.
func (d *Decoder) Next(o *Object) bool {
	if !d.More() {
		d.End()
		return false
	}
	name := d.Name()
	i := o.Field + 1 // usually the fields are in order
	if i >= len(o.names) || o.names[i] != string(name) {
		if i = find(o.names, name); i < 0 {
			d.unknown(name, o.names...)
			return false
		}
	}
	o.Field = i
	seen := &o.seen
	if i >= 64 {
		seen = &o.more[i/64-1]
	}
	d.once(seen, uint(i%64))
	return d.err == nil
}

// find returns the index of a name, or -1.
func find(names []string, name []byte) int {
	for i, n := range names {
		if n == string(name) {
			return i
		}
	}
	return -1
}
