// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
)

func checkType(c *law.Contribution) *law.Refusal {
	if err := c.Type.CheckRecord(); err != nil {
		return law.NewInvalid("spec.type", c.Type.String(), law.ReasonValidationFailed, "%v (S5.4)", err)
	}
	return nil
}

// packValues returns the octets of each value on the wire. The refusal is for a name that is too long with the zone's,
// and values that a name server does not load (S5.11).
func packValues(zone name.Name, c *law.Contribution) ([]int, *law.Refusal) {
	sizes := make([]int, len(c.Values))
	for i, v := range c.Values {
		wire, err := v.Pack(zone)
		if err != nil {
			return nil, law.NewInvalid("spec.values", v.Text, law.ReasonNameTooLong, "%v", err)
		}
		if err := rdata.CheckLoadable(v.Type, wire); err != nil {
			return nil, law.NewInvalid("spec.values", v.Text, law.ReasonValidationFailed, "%s %v (S5.11)", v.Type, err)
		}
		sizes[i] = len(wire)
	}
	return sizes, nil
}

type ownerChange struct {
	owner         name.Rel
	before, after *law.Owner
}

type ownerChanges []ownerChange

func (l ownerChanges) findAfter(at name.Rel) *law.Owner {
	for i := range l {
		if l[i].owner == at {
			return l[i].after
		}
	}
	return nil
}

type Diff struct {
	removed, added []content.Row
	ttls           []content.TTLChange
}

// compareSet adds to d the changes of an RRset: of the values texts, those that come or go, and the TTL. Values that
// the write does not concern may be left out.
func (d *Diff) compareSet(o *ownerChange, t rdata.Type, texts []string) {
	for _, text := range texts {
		row, dg := content.Row{Owner: o.owner, Type: t, Data: text}, law.DigestOf(text)
		// A value of two Records stays until both are deleted.
		switch was, is := o.before.DefinesValue(t, dg), o.after.DefinesValue(t, dg); {
		case was == is:
		case is:
			d.added = append(d.added, row)
		default:
			d.removed = append(d.removed, row)
		}
	}
	if was, is := o.before.DefinedTTL(t), o.after.DefinedTTL(t); !content.EqualTTLs(was, is) {
		d.ttls = append(d.ttls, content.TTLChange{Owner: o.owner, Type: t, Before: was, After: is})
	}
}

// compareOwner adds to d the changes at o's name, of the values in removed and added, and of the derived PTR.
func (d *Diff) compareOwner(o *ownerChange, removed, added *law.Contribution, derived []string) {
	var types []rdata.Type
	texts := map[rdata.Type][]string{}
	if len(derived) > 0 {
		types, texts[rdata.PTR] = append(types, rdata.PTR), derived
	}
	for _, c := range []*law.Contribution{removed, added} {
		if c == nil || c.Owner != o.owner {
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

func (d *Diff) sortTTLs() {
	slices.SortFunc(d.ttls, func(x, y content.TTLChange) int {
		return cmp.Or(x.Owner.Compare(y.Owner), cmp.Compare(x.Type, y.Type))
	})
}

func (d *Diff) rrsetGrowth() (n int) {
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

func (d *Diff) empty() bool { return len(d.removed) == 0 && len(d.added) == 0 && len(d.ttls) == 0 }

// applyTo returns state with the rows and TTLs of d subtracted and added. An error means that state is damaged.
func (d *Diff) applyTo(state sethash.State) (sethash.State, error) {
	var minus, plus []sethash.Element
	for _, r := range d.removed {
		minus = append(minus, r.Element())
	}
	for _, r := range d.added {
		plus = append(plus, r.Element())
	}
	for _, t := range d.ttls {
		if t.Before != nil {
			minus = content.AppendTTL(minus, t.Owner, t.Type, *t.Before)
		}
		if t.After != nil {
			plus = content.AppendTTL(plus, t.Owner, t.Type, *t.After)
		}
	}
	return state.Update(minus, plus)
}

func ownerCut(o *law.Owner) []law.OwnerValue {
	if o == nil {
		return nil
	}
	return o.Cut
}
