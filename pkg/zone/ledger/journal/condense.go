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
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const condensedPart = 256 << 10 // octets, estimated

// Condensed is the header of a condensed step: the merged oldest changes of a zone since the serial of its name
// servers. After a mass deletion, the name servers may keep their serial for days. A starting server must undo all
// changes since then, but the journal is bounded. So the oldest steps are merged before a trim. The last merged step
// also stays in the journal, as the link to the next. All servers make the same parts up to the same step, and writes
// compare the header's key, so the second of two servers fails.
type Condensed struct {
	From   serial.Serial `json:"f"` // of the name servers
	State  sethash.State `json:"h"` // of the content at From
	Step   content.Step  `json:"s"` // without values and TTLs, which may be too large for an etcd value
	Parts  int           `json:"p"` // number of further keys, with the values and TTLs
	Octets int           `json:"o"` // of all parts
}

// readCondensed returns the header of the condensed step and the version of its key, or nil and 0. A *rev of 0 becomes
// the revision of the read.
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

// condensedStep returns the whole condensed step, with values and TTLs from its parts, at the revision at.
func (jr *Journal) condensedStep(ctx context.Context, zone string, c *Condensed, at int64) (content.Step, error) {
	step := c.Step
	for i := range c.Parts {
		key := jr.Layout.CondensedPart(zone, step.N, i)
		r, err := jr.Client.Get(ctx, key, clientv3.WithRev(at))
		if err != nil {
			return step, err
		}
		if len(r.Kvs) == 0 {
			// The header is written last, so all parts exist. Later headers delete them, but not at this revision.
			return step, fmt.Errorf("a part of the condensed journal is missing at %s: run kubizone fsck, which names the damage", key)
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

// Condense merges the journal steps of z up to number n into the condensed step. The zone z was read at revision
// zoneRev. Condense returns the step before which to trim, or 0 if another server was faster, or z has lost its name
// since then.
func (jr *Journal) Condense(ctx context.Context, z *v1alpha1.Zone, zoneRev int64, n uint64) (uint64, error) {
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

	// Read the condensed step, and the journal's steps after.
	if c != nil {
		// Another server has condensed up to n or further.
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
	if errors.Is(err, ErrTrimmed) { // another server has condensed them, or they are gone
		// A changed header means that the other server was faster. Otherwise the steps are gone, and no merge helps.
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

	// The merged step must lead from the delivered content to the state of the last step, or servers would undo too
	// much.
	step := content.Condense(append(steps, more...))
	if state, err := before.Update(step.Elements()); err != nil || state != step.State {
		return 0, fmt.Errorf("zone %s: the steps from serial %d to %d do not add up (%v); run kubizone fsck", zone, settled, step.Serial,
			err)
	}

	// Store the parts first, since only the header makes them valid.
	next := &Condensed{From: settled, State: before, Step: step}
	next.Step.Removed, next.Step.Added, next.Step.TTLs = nil, nil, nil
	named, err := jr.compareName(ctx, z, zoneRev)
	if err != nil || named == nil {
		return 0, err
	}

	jr.Fault("condense")
	for _, part := range partsOf(&step) {
		value := layout.Encode(part)
		// Another server at work writes equal parts, so neither breaks the other's.
		done, err := jr.Client.Txn(ctx).If(*named).Then(etcd.OpPut(jr.Layout.CondensedPart(zone, n, next.Parts), value)).Commit()
		if err != nil || !done.Succeeded {
			return 0, err
		}
		next.Parts, next.Octets = next.Parts+1, next.Octets+len(value)
	}

	// Only now the header makes the parts valid, unless another server has changed it.
	key := jr.Layout.Condensed(zone)
	done, err := jr.Client.Txn(ctx).If(*named, etcd.RevisionIs(key, mod)).Then(etcd.OpPut(key, layout.Encode(next))).Commit()
	if err != nil || !done.Succeeded {
		return 0, err
	}

	// Delete the parts of the former header. Readers of that header read at an earlier revision.
	_, err = jr.Client.Delete(ctx, key+"0", clientv3.WithRange(jr.Layout.CondensedPart(zone, n, 0)))
	return n, err
}

// compareName returns a compare that holds while z keeps its DNS name. If z has lost the name since revision zoneRev,
// the result is nil, even if z has the name again: a purge of the zone's keys would miss a key written now. Only after
// this call, callers may read the data to delete.
func (jr *Journal) compareName(ctx context.Context, z *v1alpha1.Zone, zoneRev int64) (*clientv3.Cmp, error) {
	fqdn, err := name.Parse(z.Status.FQDN)
	if err != nil {
		return nil, fmt.Errorf("zone %s/%s: status.fqdn: %w", z.Namespace, z.Name, err)
	}
	key := jr.Layout.Key(law.HoldingKey(z.Status.View, fqdn))
	r, err := jr.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 || r.Kvs[0].CreateRevision > zoneRev { // lost, or restored
		return nil, err
	}
	if _, h, err := jr.Layout.DecodeName(string(r.Kvs[0].Key), r.Kvs[0].Value); err != nil || h.UID != string(z.UID) {
		return nil, err // another zone has the name
	}
	keepsName := clientv3.Compare(clientv3.CreateRevision(key), "=", r.Kvs[0].CreateRevision)
	return &keepsName, nil
}

// partsOf divides the rows and TTLs of a step into parts of about condensedPart octets, always in the same way. A step
// without rows and TTLs has no part.
func partsOf(step *content.Step) (parts []*content.Step) {
	// The first row always begins a part.
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
