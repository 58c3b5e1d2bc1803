package segment

import "math/big"

// Numeric divides by a number into intervals of one size. The last one has the
// remainder.
//
// Two of To, Size and Count are given, or Size and Count alone. With To and Count, the
// size is the whole part of (To - From) / Count and the last interval is the larger for it.
// With To and Size, the last interval is the smaller. With Size and Count, the end is
// From + Size * Count. All three are accepted if they agree.
//
// From and To are the range of the expected values. Unless Partial is set, the first
// interval also has all lower values and NULL, and the last one all greater values.
type Numeric struct {
	From  *big.Int `json:"from,omitempty"`  // included; nil is 0
	To    *big.Int `json:"to,omitempty"`    // not included; nil is From + Size * Count
	Size  *big.Int `json:"size,omitempty"`  // at least 1; nil is computed
	Count int      `json:"count,omitempty"` // at least 1; 0 is computed
	// Partial states that rows outside of From and To, and those with NULL, are not
	// meant.
	Partial bool `json:"partial,omitempty"`
}

// Plan computes the segments, or returns a [ParameterError].
func (n Numeric) Plan() (*Plan, error) {
	const typ = "Numeric"
	from := new(big.Int)
	if n.From != nil {
		from.Set(n.From)
	}
	switch {
	case n.Count < 0:
		return nil, refuse(typ, "Count", "it is %d and must be at least 1", n.Count)
	case n.Size != nil && n.Size.Sign() < 1:
		return nil, refuse(typ, "Size", "it is %s and must be at least 1", brief(n.Size))
	case n.To != nil && n.To.Cmp(from) <= 0:
		return nil, refuse(typ, "To", "it is %s and must be greater than From, which is %s", brief(n.To), brief(from))
	case n.Size == nil && n.Count == 0:
		return nil, refuse(typ, "", "Size or Count is needed, and must be at least 1")
	case n.To == nil && n.Size == nil:
		return nil, refuse(typ, "", "without To, Size is needed beside Count")
	case n.To == nil && n.Count == 0:
		return nil, refuse(typ, "", "without To, Count is needed beside Size, and must be at least 1")
	case n.Count > MaxSegments:
		return nil, refuse(typ, "Count", "it is %d and must be at most %d", n.Count, MaxSegments)
	}
	var size, to *big.Int
	count := n.Count
	switch {
	case n.To == nil:
		size = new(big.Int).Set(n.Size)
		to = new(big.Int).Mul(size, big.NewInt(int64(count)))
		to.Add(to, from)
	case n.Size == nil:
		to = new(big.Int).Set(n.To)
		size = new(big.Int).Sub(to, from)
		size.Quo(size, big.NewInt(int64(count)))
		if size.Sign() == 0 {
			return nil, refuse(typ, "Count", "it is %d and must be at most the number of integers from %s to below %s", count, brief(from), brief(to))
		}
	default:
		size, to = new(big.Int).Set(n.Size), new(big.Int).Set(n.To)
		needed := new(big.Int).Sub(to, from)
		needed.Add(needed, size).Sub(needed, big.NewInt(1)).Quo(needed, size)
		if needed.Cmp(big.NewInt(MaxSegments)) > 0 {
			return nil, refuse(typ, "Size", "it is %s, which makes %s segments: %d are the most", brief(size), brief(needed), MaxSegments)
		}
		if count != 0 && int64(count) != needed.Int64() {
			return nil, refuse(typ, "Count", "it is %d, but From, To and Size make %s segments: leave one of them out", count, needed)
		}
		count = int(needed.Int64())
	}
	for _, end := range []struct {
		field string
		n     *big.Int
	}{{"From", from}, {"To", to}} {
		if v := BigInt(end.n); v.problem != "" {
			return nil, refuse(typ, end.field, "%s", v.problem)
		}
	}
	return ranges(count, n.Partial, func(i int) Value {
		if i == count {
			return BigInt(to)
		}
		start := new(big.Int).Mul(size, big.NewInt(int64(i)))
		return BigInt(start.Add(start, from))
	}), nil
}
