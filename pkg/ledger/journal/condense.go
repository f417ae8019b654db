// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// What is delivered of an unsettled zone is an earlier content, and a server that starts finds it by undoing the
// steps since. A mass deletion holds a zone back for days (S7.5), and the journal is bounded. So of these steps the
// oldest are condensed into one before they are trimmed: the rows of that are no more than those of the two contents
// between which it leads, however much was written meanwhile. The last of the steps that are in it stays in the
// journal, so that those behind it join on to it.
//
// It is stored in parts, and they count only by the key that names them, which is compared when it is written: of two
// servers that condense at once one is in vain. Each server makes the same parts up to the same step.

// condensedPart bounds the octets of rows in a part, but for one row more.
const condensedPart = 256 << 10

// Condensed are the steps of a zone since the serial that is delivered of it, as one.
type Condensed struct {
	// From is the serial that is delivered, and State the content state at it.
	From  serial.Serial `json:"f"`
	State sethash.State `json:"h"`
	// Step is without its rows and TTLs, which are in so many parts.
	Step  content.Step `json:"s"`
	Parts int          `json:"p"`
	// Octets are how many the parts have.
	Octets int `json:"o"`
}

// readCondensed returns what is condensed of a zone, with the revision of its key, as it was at *rev; 0 takes the
// present one. It returns nil where nothing is condensed. The condensed steps of another hold begin at another
// serial.
func (jr *Journal) readCondensed(ctx context.Context, zone string, rev *int64) (c *Condensed, mod int64, err error) {
	key := jr.Layout.Condensed(zone)
	r, err := jr.Client.Get(ctx, key, clientv3.WithRev(*rev))
	if err != nil {
		return nil, 0, err
	}
	if *rev == 0 {
		*rev = r.Header.Revision
	}
	if len(r.Kvs) == 0 {
		return nil, 0, nil
	}
	c, mod = &Condensed{}, r.Kvs[0].ModRevision
	if err := layout.Decode(r.Kvs[0].Value, c); err != nil {
		return nil, 0, layout.Unreadable(key, err)
	}
	return c, mod, nil
}

// condensedStep returns the whole condensed step, as it was at a revision.
func (jr *Journal) condensedStep(ctx context.Context, zone string, c *Condensed, at int64) (content.Step, error) {
	step := c.Step
	for i := range c.Parts {
		key := jr.Layout.CondensedPart(zone, step.N, i)
		r, err := jr.Client.Get(ctx, key, clientv3.WithRev(at))
		if err != nil {
			return step, err
		}
		if len(r.Kvs) == 0 {
			return step, fmt.Errorf("a part of what is condensed is missing at %s: run kubizone fsck, which says what is damaged", key)
		}
		var part content.Step
		if err := layout.Decode(r.Kvs[0].Value, &part); err != nil {
			return step, layout.Unreadable(key, err)
		}
		step.Removed, step.Added, step.TTLs = append(step.Removed, part.Removed...), append(step.Added, part.Added...),
			append(step.TTLs, part.TTLs...)
	}
	return step, nil
}

// Condense takes the steps of the journal of z up to step n into what is condensed of it. It returns before which
// step the journal may be trimmed: 0 where another server was ahead, or z has left its name since it was read or
// written at a revision.
func (jr *Journal) Condense(ctx context.Context, z *v1alpha1.Zone, at int64, n uint64) (uint64, error) {
	zone, settled := string(z.UID), serial.Serial(z.Status.SettledSerial)
	var rev int64
	c, mod, err := jr.readCondensed(ctx, zone, &rev)
	switch {
	case err != nil:
		return 0, err
	case c != nil && c.From.Ahead(settled): // z is of an earlier hold
		return 0, nil
	case c != nil && c.From != settled:
		c = nil // c is of an earlier hold
	}
	since, steps := settled, []content.Step(nil)
	if c != nil {
		if c.Step.N >= n {
			return c.Step.N, nil
		}
		step, err := jr.condensedStep(ctx, zone, c, rev)
		if err != nil {
			return 0, err
		}
		since, steps = step.Serial, append(steps, step)
	}
	before, more, err := jr.journalFrom(ctx, zone, since, n, false, new(int64))
	if errors.Is(err, ErrTrimmed) { // another server was ahead, or what is to be condensed was trimmed
		if _, now, err := jr.readCondensed(ctx, zone, new(int64)); err != nil || now != mod {
			return 0, err
		}
		return n, nil
	}
	if err != nil || len(more) == 0 {
		return n, err
	}
	if c != nil {
		before = c.State
	}
	step := content.Condense(append(steps, more...))
	if state, err := before.Update(step.Elements()); err != nil || state != step.State {
		return 0, fmt.Errorf("zone %s: the steps from serial %d to %d do not add up (%v); run kubizone fsck", zone, settled, step.Serial,
			err)
	}
	next := &Condensed{From: settled, State: before, Step: step}
	next.Step.Removed, next.Step.Added, next.Step.TTLs = nil, nil, nil
	stands, err := jr.stillNamed(ctx, z, at)
	if err != nil || stands == nil {
		return 0, err
	}
	jr.Fault("condense")
	for _, part := range partsOf(&step) {
		value := layout.Encode(part)
		done, err := jr.Client.Txn(ctx).If(*stands).Then(etcd.OpPut(jr.Layout.CondensedPart(zone, n, next.Parts), value)).Commit()
		if err != nil || !done.Succeeded {
			return 0, err
		}
		next.Parts, next.Octets = next.Parts+1, next.Octets+len(value)
	}
	key := jr.Layout.Condensed(zone)
	done, err := jr.Client.Txn(ctx).If(*stands, etcd.RevisionIs(key, mod)).Then(etcd.OpPut(key, layout.Encode(next))).Commit()
	if err != nil || !done.Succeeded {
		return 0, err
	}
	_, err = jr.Client.Delete(ctx, key+"0", clientv3.WithRange(jr.Layout.CondensedPart(zone, n, 0)))
	return n, err
}

// stillNamed compares that z stands under the name that it had at a revision; nil: it does not. For a zone that is
// gone nothing may be written that its purge could have passed (I4). For one that stands again, nothing may be
// removed by what it was before. Other changes at the name do not matter.
func (jr *Journal) stillNamed(ctx context.Context, z *v1alpha1.Zone, at int64) (*clientv3.Cmp, error) {
	fqdn, err := name.Parse(z.Status.FQDN)
	if err != nil {
		return nil, fmt.Errorf("zone %s/%s: status.fqdn: %w", z.Namespace, z.Name, err)
	}
	key := jr.Layout.Key(law.HoldingKey(z.Status.View, fqdn))
	r, err := jr.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 || r.Kvs[0].CreateRevision > at {
		return nil, err
	}
	if _, h, err := jr.Layout.DecodeName(string(r.Kvs[0].Key), r.Kvs[0].Value); err != nil || h.UID != string(z.UID) {
		return nil, err
	}
	is := clientv3.Compare(clientv3.CreateRevision(key), "=", r.Kvs[0].CreateRevision)
	return &is, nil
}

// partsOf cuts the rows and TTLs of a step.
func partsOf(step *content.Step) (parts []*content.Step) {
	octets := condensedPart
	in := func(more int) *content.Step {
		if octets += more; octets > condensedPart {
			parts, octets = append(parts, &content.Step{}), more
		}
		return parts[len(parts)-1]
	}
	for _, row := range step.Removed {
		p := in(len(row.Data) + 100)
		p.Removed = append(p.Removed, row)
	}
	for _, row := range step.Added {
		p := in(len(row.Data) + 100)
		p.Added = append(p.Added, row)
	}
	for _, change := range step.TTLs {
		p := in(150)
		p.TTLs = append(p.TTLs, change)
	}
	return parts
}
