// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
)

// Limits of S5.8. BIND 9.18 refuses a whole zone beyond 100 records in one
// RRset, so a looser limit would let one tenant stop the zone for all.
const (
	MaxValuesInRRset = 100
	MaxTypesAtName   = 100
	MaxValuesAtName  = 1000 // a value counts once for each TTL: so many octets does the fact of the name take
	MaxRRsetOctets   = 60000
	// MaxDS is how many DS a child zone gives its parent at most (S12.3). Records leave so many places in a DS RRset.
	MaxDS = 16
)

// Contribution is what one record puts into a zone.
type Contribution struct {
	Owner  name.Rel
	Type   rdata.Type
	TTL    *uint32
	Values []rdata.Value
}

// ContributionAt is what the record puts into its zone at a name.
func (r *Record) ContributionAt(owner name.Rel) Contribution {
	return Contribution{Owner: owner, Type: r.Type, TTL: r.TTL, Values: r.Values}
}

func sameTTL(l, r *uint32) bool {
	return l == r || l != nil && r != nil && *l == *r
}

func (o *Owner) clone() *Owner {
	if o == nil {
		return &Owner{}
	}
	out := *o
	out.Values, out.Cut, out.Claims = slices.Clone(o.Values), slices.Clone(o.Cut), slices.Clone(o.Claims)
	return &out
}

func (o *Owner) indexOf(t rdata.Type, d Digest, ttl *uint32) int {
	return slices.IndexFunc(o.Values, func(v OwnerValue) bool { return v.Type == t && v.Digest == d && sameTTL(v.TTL, ttl) })
}

func (o *Owner) hasValue(t rdata.Type, d Digest) bool {
	return o != nil && slices.ContainsFunc(o.Values, func(v OwnerValue) bool { return v.Type == t && v.Digest == d })
}

// sharesType reports whether values of the contribution's type stand there besides its own, which are counted.
func (o *Owner) sharesType(c *Contribution) bool {
	others := o.clone()
	others.removeContribution(c)
	return others.hasType(c.Type)
}

func (o *Owner) hasType(t rdata.Type) bool {
	return o != nil && slices.ContainsFunc(o.Values, func(v OwnerValue) bool { return v.Type == t })
}

// addContribution counts the values of a contribution; sizes are the wire lengths of its rdata.
func (o *Owner) addContribution(c *Contribution, sizes []int) {
	for i, v := range c.Values {
		d := DigestOf(v.Text)
		if j := o.indexOf(c.Type, d, c.TTL); j >= 0 {
			o.Values[j].Count++
			continue
		}
		o.Values = append(o.Values, OwnerValue{Type: c.Type, Digest: d, TTL: c.TTL, Count: 1, Size: sizes[i]})
	}
	slices.SortFunc(o.Values, compareOwnerValues)
}

func compareOwnerValues(x, y OwnerValue) int {
	ttl := func(v OwnerValue) int64 {
		if v.TTL == nil {
			return -1
		}
		return int64(*v.TTL)
	}
	return cmp.Or(cmp.Compare(x.Type, y.Type), slices.Compare(x.Digest[:], y.Digest[:]), cmp.Compare(ttl(x), ttl(y)))
}

// removeContribution takes a contribution out; it reports whether all of it was there.
func (o *Owner) removeContribution(c *Contribution) bool {
	all := true
	for _, v := range c.Values {
		j := o.indexOf(c.Type, DigestOf(v.Text), c.TTL)
		if j < 0 {
			all = false
			continue
		}
		if o.Values[j].Count--; o.Values[j].Count == 0 {
			o.Values = slices.Delete(o.Values, j, j+1)
		}
	}
	return all
}

// rrsetTTL is the TTL of the RRset that records give: the smallest explicit one, or inherited, or both (S5.2, S6.7).
func (o *Owner) rrsetTTL(t rdata.Type) *content.TTL {
	if o == nil {
		return nil
	}
	return ttlOf(o.Values, t)
}

// definesValue reports whether the definition has the value, from whatever source.
func (o *Owner) definesValue(t rdata.Type, d Digest) bool {
	return o.hasValue(t, d) || o != nil && slices.ContainsFunc(o.Cut, func(v OwnerValue) bool { return v.Type == t && v.Digest == d })
}

// definedTTL is the TTL of the RRset in the definition, from whatever source.
func (o *Owner) definedTTL(t rdata.Type) *content.TTL {
	if o == nil {
		return nil
	}
	if len(o.Cut) == 0 {
		return ttlOf(o.Values, t)
	}
	return ttlOf(slices.Concat(o.Values, o.Cut), t)
}

// countCut adds n to the count of each value that a cut has here, n being 1 or -1.
func (o *Owner) countCut(s content.RRset, n int) {
	ttl := s.TTL.Seconds
	for _, data := range s.Data {
		v := OwnerValue{Type: s.Type, Digest: DigestOf(data), TTL: &ttl, Count: n}
		i := slices.IndexFunc(o.Cut, func(x OwnerValue) bool { return compareOwnerValues(x, v) == 0 })
		switch {
		case i < 0 && n > 0:
			o.Cut = append(o.Cut, v)
		case i >= 0:
			if o.Cut[i].Count += n; o.Cut[i].Count == 0 {
				o.Cut = slices.Delete(o.Cut, i, i+1)
			}
		}
	}
	slices.SortFunc(o.Cut, compareOwnerValues)
}

func ttlOf(values []OwnerValue, t rdata.Type) *content.TTL {
	var out *content.TTL
	for _, v := range values {
		if v.Type != t {
			continue
		}
		if out == nil {
			out = &content.TTL{}
		}
		switch {
		case v.TTL == nil:
			out.Inherit = true
		case !out.Explicit || *v.TTL < out.Seconds:
			out.Explicit, out.Seconds = true, *v.TTL
		}
	}
	return out
}

// countDistinct counts the different values of a type.
func (o *Owner) countDistinct(t rdata.Type) (values, octets int) {
	var last Digest
	for _, v := range o.Values { // sorted by type, digest
		if v.Type != t || values > 0 && v.Digest == last {
			continue
		}
		last = v.Digest
		values++
		octets += v.Size
	}
	return values, octets
}

func (o *Owner) types() []rdata.Type {
	var out []rdata.Type
	if o == nil {
		return nil
	}
	for _, v := range o.Values {
		if len(out) == 0 || out[len(out)-1] != v.Type {
			out = append(out, v.Type)
		}
	}
	return out
}

// checkType refuses a type that Records cannot have.
func (c *Contribution) checkType() *Refusal {
	if err := c.Type.CheckRecord(); err != nil {
		return invalid("spec.type", c.Type.String(), ReasonValidationFailed, "%v", err)
	}
	return nil
}

// packValues returns the wire lengths of a contribution's rdata in a zone. It refuses rdata where a name in it is too
// long there, and rdata that some server does not load (S5.11).
func packValues(zone name.Name, c *Contribution) ([]int, *Refusal) {
	sizes := make([]int, len(c.Values))
	for i, v := range c.Values {
		wire, err := v.Pack(zone)
		if err != nil {
			return nil, invalid("spec.values", v.Text, ReasonNameTooLong, "%v", err)
		}
		if err := rdata.CheckLoadable(v.Type, wire); err != nil {
			return nil, invalid("spec.values", v.Text, ReasonValidationFailed, "%s %v (S5.11)", v.Type, err)
		}
		sizes[i] = len(wire)
	}
	return sizes, nil
}

// ownerChange is what stands at one owner before a write and after it.
type ownerChange struct {
	at            name.Rel
	before, after *Owner
}

// ownerChanges lists the owners that a write concerns, each once.
type ownerChanges []ownerChange

// after is the owner at a name after the write, nil where the write does not concern it.
func (l ownerChanges) after(at name.Rel) *Owner {
	for i := range l {
		if l[i].at == at {
			return l[i].after
		}
	}
	return nil
}

// ownerFact is the stored form of an owner: nothing at all for an owner without data.
func ownerFact(o *Owner) any {
	if o == nil || len(o.Values) == 0 && len(o.Cut) == 0 && len(o.Claims) == 0 {
		return nil
	}
	return o
}

// diff collects how the definition changes between two states of owners.
type diff struct {
	removed, added []content.Row
	ttls           []content.TTLChange
}

// compareSet adds what differs in one RRset. texts are the values that may have come or gone, each once.
func (d *diff) compareSet(o *ownerChange, t rdata.Type, texts []string) {
	for _, text := range texts {
		row, dg := content.Row{Owner: o.at, Type: t, Data: text}, DigestOf(text)
		switch was, is := o.before.definesValue(t, dg), o.after.definesValue(t, dg); {
		case was && !is:
			d.removed = append(d.removed, row)
		case !was && is:
			d.added = append(d.added, row)
		}
	}
	was, is := o.before.definedTTL(t), o.after.definedTTL(t)
	if (was == nil) != (is == nil) || was != nil && *was != *is {
		d.ttls = append(d.ttls, content.TTLChange{Owner: o.at, Type: t, Before: was, After: is})
	}
}

// compareOwner adds what differs at one owner, for the values of the contributions that go and come. Other values
// cannot have changed.
func (d *diff) compareOwner(o *ownerChange, gone, come *Contribution) {
	var types []rdata.Type
	texts := map[rdata.Type][]string{}
	for _, c := range []*Contribution{gone, come} {
		if c == nil || c.Owner != o.at {
			continue
		}
		if !slices.Contains(types, c.Type) {
			types = append(types, c.Type)
		}
		for _, v := range c.Values {
			if !slices.Contains(texts[c.Type], v.Text) {
				texts[c.Type] = append(texts[c.Type], v.Text)
			}
		}
	}
	for _, t := range types {
		d.compareSet(o, t, texts[t])
	}
	d.sortTTLs()
}

func (d *diff) sortTTLs() {
	slices.SortFunc(d.ttls, func(x, y content.TTLChange) int {
		return cmp.Or(x.Owner.Compare(y.Owner), cmp.Compare(x.Type, y.Type))
	})
}

// RRsets is how many there are at the owner.
func (o *Owner) RRsets() int {
	types := map[rdata.Type]bool{}
	for _, values := range [...][]OwnerValue{o.Values, o.Cut} {
		for _, v := range values {
			types[v.Type] = true
		}
	}
	return len(types)
}

// rrsetGrowth is the growth of the number of RRsets.
func (d *diff) rrsetGrowth() (n int) {
	for _, t := range d.ttls {
		if t.Before == nil {
			n++
		}
		if t.After == nil {
			n--
		}
	}
	return n
}

func (d *diff) empty() bool { return len(d.removed) == 0 && len(d.added) == 0 && len(d.ttls) == 0 }

// applyTo returns the content state after the changes (S6.7).
func (d *diff) applyTo(state sethash.State) (sethash.State, error) {
	return StateAfter(state, d.removed, d.added, d.ttls)
}

// StateAfter is the content state after rows and RRset TTLs changed (S6.7).
// Error: state is no valid encoding.
func StateAfter(state sethash.State, removed, added []content.Row, ttls []content.TTLChange) (sethash.State, error) {
	var minus, plus []sethash.Element
	for _, r := range removed {
		minus = append(minus, r.Element())
	}
	for _, r := range added {
		plus = append(plus, r.Element())
	}
	for _, t := range ttls {
		if t.Before != nil {
			minus = append(minus, content.TTLElement(t.Owner, t.Type, *t.Before))
		}
		if t.After != nil {
			plus = append(plus, content.TTLElement(t.Owner, t.Type, *t.After))
		}
	}
	return state.Update(minus, plus)
}
