// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview/definition"
)

type rrset struct {
	owner name.Rel
	t     rdata.Type
}

// Content is the definition of a zone at a serial.
type Content struct {
	Header     content.Header
	Serial     serial.Serial
	generation int64
	sets       map[rrset]*content.RRset
	// hidden are RRsets with unknown values, since a step has lost them or is missing.
	hidden map[rrset]bool
	// undone counts steps. Steps between them are missing if lacksSteps is true.
	undone     int
	lacksSteps bool
}

func (r *Reader) ReadContent(ctx context.Context, zone *v1alpha1.Zone) (*Content, error) {
	snapshot, err := definition.Read(ctx, r.Client.RESTClient(), zone)
	if err != nil {
		return nil, err
	}
	c := &Content{Header: snapshot.Header(), Serial: snapshot.Serial(), generation: int64(snapshot.N()), sets: map[rrset]*content.RRset{},
		hidden: map[rrset]bool{}}
	for set := range snapshot.RRsets() {
		set.Data = slices.Clone(set.Data)
		c.sets[rrset{set.Owner, set.Type}] = &set
	}
	return c, nil
}

// Undo reverts the newest step of the content. It ignores steps newer than the content. A step without values hides the
// changed RRsets. After missing steps, an older step hides an RRset in conflict: for example, the step added a value,
// and a missing step removed it.
func (c *Content) Undo(x *v1alpha1.HistoryStep) error {
	if x.ContentGeneration > c.generation {
		return nil
	}
	misfit := func(what string, row any) error {
		return fmt.Errorf("the history of zone %s does not fit its content: serial %d %s %v; repeat the command, and if that does not "+
			"help, have kubizone fsck check the store", x.FQDN, x.Serial, what, row)
	}
	if x.ContentGeneration != c.generation {
		if c.undone == 0 {
			return misfit("is not the one before", c.Serial)
		}
		c.lacksSteps = true
	}
	c.undone++
	// Removed rows come first, so that an RRset with other values keeps its TTL.
	for n, row := range eachRow(x) {
		k, data, err := parseRow(row)
		if err != nil {
			return misfit("has a row that cannot be read:", err)
		}
		set := cmp.Or(c.sets[k], &content.RRset{Owner: k.owner, Type: k.t, TTL: content.InheritTTL()})
		// A removed value is not there, and an added value is.
		fits := slices.Contains(set.Data, data) == (n > 0)
		switch {
		case c.hidden[k]:
		case !fits && c.lacksSteps:
			c.hide(k)
		case !fits:
			return misfit(map[int]string{-1: "removed a value that is there:", 1: "added a value that is not there:"}[n], row)
		case n < 0:
			set.Data = append(set.Data, data)
			slices.Sort(set.Data)
			c.sets[k] = set
		default:
			if set.Data = slices.DeleteFunc(set.Data, func(d string) bool { return d == data }); len(set.Data) == 0 {
				delete(c.sets, k)
			}
		}
	}

	for _, change := range x.TTLs {
		k, _, err := parseRow(v1alpha1.Row{Owner: change.Owner, Type: change.Type})
		if err != nil {
			return misfit("has a ttl that cannot be read:", err)
		}
		if x.Condensed {
			c.hide(k)
		}
		if set := c.sets[k]; set != nil && change.Before != "" {
			if set.TTL, err = content.ParseTTL(change.Before); err != nil {
				return misfit("has a ttl that cannot be read:", err)
			}
		}
	}

	if x.HeaderBefore != nil {
		header, err := headerOf(x.HeaderBefore)
		if err != nil {
			return misfit("has a header that cannot be read:", err)
		}
		c.Header = header
	}
	c.Serial, c.generation = serialOf(x.From), x.ContentGeneration-1
	return nil
}

func (c *Content) hide(k rrset) {
	delete(c.sets, k)
	c.hidden[k] = true
}

func parseRow(row v1alpha1.Row) (k rrset, data string, err error) {
	if k.owner, err = name.ParseRel(row.Owner); err != nil {
		return k, "", err
	}
	k.t, err = rdata.ParseType(row.Type)
	return k, row.Data, err
}

// Entries yields the entries in canonical order, the SOA first.
func (c *Content) Entries() iter.Seq[dns.Entry] {
	sets := make([]content.RRset, 0, len(c.sets))
	for _, set := range c.sets {
		sets = append(sets, *set)
	}
	slices.SortFunc(sets, content.RRset.Compare)
	return content.Entries(c.Header, c.Serial, slices.Values(sets))
}

func (c *Content) entriesAt(at name.Name, hidden map[rrset]bool) map[string]dns.Entry {
	one := *c
	one.Serial, one.sets = 1, maps.Clone(c.sets)
	maps.DeleteFunc(one.sets, func(k rrset, _ *content.RRset) bool { return hidden[k] })
	out := map[string]dns.Entry{}
	for e := range one.Entries() {
		if at.IsZero() || e.Name == at {
			out[fmt.Sprint(e.Name, " ", e.TTL, " ", e.Type, " ", e.Data)] = e
		}
	}
	return out
}

func valueOf(op string, e dns.Entry, by Author) Value {
	return Value{Op: op, FQDN: e.Name.String(), TTL: e.TTL, Type: e.Type.String(), Data: e.Data, Author: by}
}

// Blame returns the values at a name, zero for all, with their authors.
func (p *Past) Blame(c *Content, at name.Name) []Value {
	author := p.findAuthors(false)
	var out []Value
	for e := range c.Entries() {
		if at.IsZero() || e.Name == at {
			out = append(out, valueOf("", e, author(e)))
		}
	}
	return out
}

// HasAuthors returns a test to end a reading, newest step first, at the last author of the values at a name. The test
// is nil, for a reading of all steps, at the zero name and the apex, whose values may be of the Zone's spec.
func (c *Content) HasAuthors(at name.Name) func(*v1alpha1.HistoryStep) bool {
	apex := c.Header.FQDN
	if at.IsZero() || at == apex {
		return nil
	}
	awaited := map[valueKey]bool{}
	for e := range c.Entries() {
		if e.Name == at {
			awaited[valueKey{e.Name, e.Type, e.Data}] = true
		}
	}
	return func(x *v1alpha1.HistoryStep) bool {
		_, added := withServers(x)
		for _, row := range added {
			if k, ok := keyOf(row, apex); ok {
				delete(awaited, k)
			}
		}
		return len(awaited) == 0
	}
}

// Diff returns the values removed and added between two contents, with their authors, without RRsets hidden in before.
func (p *Past) Diff(before, after *Content, at name.Name) []Value {
	had, has := before.entriesAt(at, before.hidden), after.entriesAt(at, before.hidden)
	removed, added := p.findAuthors(true), p.findAuthors(false)
	var out []Value
	for text := range maps.Keys(had) {
		if _, ok := has[text]; !ok {
			out = append(out, valueOf("-", had[text], removed(had[text])))
		}
	}
	for text := range maps.Keys(has) {
		if _, ok := had[text]; !ok {
			out = append(out, valueOf("+", has[text], added(has[text])))
		}
	}
	slices.SortFunc(out, compareValues)
	return out
}

func (c *Content) Clone() *Content {
	out := *c
	out.sets = make(map[rrset]*content.RRset, len(c.sets))
	for k, set := range c.sets {
		copied := *set
		copied.Data = slices.Clone(set.Data)
		out.sets[k] = &copied
	}
	out.hidden = maps.Clone(c.hidden)
	return &out
}

func (p *Past) Between(before, after *Content) *Past {
	out := *p
	out.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(x v1alpha1.HistoryStep) bool {
		return x.ContentGeneration <= before.generation || x.ContentGeneration > after.generation
	})
	return &out
}
