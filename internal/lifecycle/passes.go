package lifecycle

// Passes is how far taskkit.Take has come, as [Progress].Taken has it. A task goes
// over its list once, and again over the items that were deferred. One number has
// all of it, so that each checkpoint commits the position together with the pass, and
// tasks without deferred items store what they would store anyway: the position.
type Passes struct {
	Pass int // before this one; 0 is the one over the whole list
	// Deferred: an item of this pass was deferred, so that there is another pass, or
	// an item would be forgotten.
	Deferred bool
	// Position counts elements of the list: those before it were taken in this pass.
	Position int64
}

const (
	positionBits = 40
	deferredBit  = 1 << positionBits
	passUnit     = deferredBit << 1
)

// PassesOf returns what a value of [Progress].Taken says.
func PassesOf(taken int64) Passes {
	return Passes{Pass: int(taken / passUnit), Deferred: taken&deferredBit != 0, Position: taken & (deferredBit - 1)}
}

// Taken returns the value of [Progress].Taken. It grows from checkpoint to checkpoint.
func (p Passes) Taken() int64 {
	taken := int64(p.Pass)*passUnit + p.Position
	if p.Deferred {
		taken += deferredBit
	}
	return taken
}
