// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

func (b *batch) describeSpan() {
	b.span.SetAttributes(attribute.Int("kubizone.groups", len(b.groups)), attribute.Int("kubizone.try", b.retries))
	if b.Zone != nil && b.span.IsRecording() {
		b.span.SetAttributes(attribute.String("kubizone.zone", b.Zone.FQDN().String()))
	}
}

// buildPuts fills b.then with the operations of the batch, objects first, and computes the size. A Zone that its
// Records change is put with the new status, and compared.
func (b *batch) buildPuts(ctx context.Context) (err error) {
	com := b.com
	b.zoneAt, b.then = -1, make([]clientv3.Op, 0, b.writes+len(b.Facts)+len(b.Puts)+3)
	// 1. The objects of the groups. Their versions come first in the response.
	own := ""
	for _, m := range b.writers {
		if m.writesObject() {
			b.then = append(b.then, m.op)
			own = m.Key
		}
	}

	// 2. The Zone, unless the write is of the Zone itself.
	c, zone := b.change, "" // zone is the key of a Zone changed by its Records
	if c != nil {
		zone = com.Mem.Layout.Zone(c.Zone.Namespace, c.Zone.Name)
	} else if b.rewritesZone() {
		zone = b.queue.Key
	}
	if zone != "" && zone != own {
		// The facts of the zone have no compares of their own: the Zone's revision proves them all.
		for _, compare := range com.Mem.CompareZone(nil, zone, b.Mod) {
			b.addCompare(compare)
		}
		if b.object = b.Base.DeepCopy(); c != nil {
			com.Placer.PlaceZone(b.object, c)
		}
		err = b.putZone(ctx, zone, b.object)
	}

	// 3. The journal step, the history, facts and other keys.
	if c != nil {
		b.putStep(c)
		b.putStates(c)
	}
	for k, v := range b.Facts {
		if v == nil {
			b.then = append(b.then, clientv3.OpDelete(com.Mem.Layout.Key(k)))
		} else {
			b.then = append(b.then, etcd.OpPut(com.Mem.Layout.Key(k), layout.Encode(v)))
		}
	}
	b.then, b.size = append(b.then, b.Puts.Ops()...), 0
	for _, op := range b.then {
		b.size += len(op.KeyBytes()) + len(op.ValueBytes())
	}
	return err
}

// rewritesZone reports whether an unchanged zone is put: after a lost race, so that the other server meets a conflict
// and yields.
func (b *batch) rewritesZone() bool {
	if b.retries == 0 || b.writes == 0 || b.Zone == nil || b.groups[0].firstWrite().Key == b.queue.Key {
		return false
	}
	// A Record that waits, for example, compares no zone, so the race was elsewhere.
	_, compared := b.comparedRevs[b.queue.Key]
	return compared
}

func (b *batch) putZone(ctx context.Context, key string, zone *v1alpha1.Zone) error {
	data, err := b.com.Mem.Zones.Encode(ctx, key, zone)
	if err != nil {
		return fmt.Errorf("encoding zone %s: %w", key, err)
	}
	b.zoneAt = len(b.then)
	b.then = append(b.then, etcd.OpPut(key, data))
	return nil
}

func (b *batch) putStep(c *law.ZoneChange) {
	if c.Zone.Pending && c.EndedZone == nil {
		return
	}
	key, value, tx := b.journalStep(c)
	if tx == nil {
		return
	}
	b.com.Journal.SentValues.Put(key, value, tx)
	if len(tx.Steps) > 0 {
		b.journalOctets = len(value)
	}
	b.then = append(b.then, etcd.OpPut(key, value))
}

// journalStep returns the journal's key and value for the transaction: the steps, the end of the zone, or a change of
// Settled alone. tx is the decoded value, nil if nothing is to be put.
func (b *batch) journalStep(c *law.ZoneChange) (key string, value []byte, tx *content.Transaction) {
	com := b.com
	switch {
	case c.Removed || c.EndedZone != nil:
		// Followers of the journal drop the zone at this key, which sorts behind all steps.
		z := c.Zone
		if c.EndedZone != nil {
			z = c.EndedZone
		}
		key = com.Mem.Layout.Step(z.UID, z.N) + ".gone"
		tx = &content.Transaction{After: z.N, Gone: true, Removal: b.removalOf(z, c.Removed)}
	case len(b.steps.Steps) > 0:
		// A step that creates the zone also names the zone, which followers of the journal may not have yet.
		key, tx = com.Mem.Layout.Step(c.Zone.UID, b.steps.LastStep()), &content.Transaction{Steps: b.steps.Steps, Settled: c.Settled()}
		if !b.steps.Steps[0].Creates() {
			return key, b.steps.Value(c.Settled()), tx
		}
		tx.Zone = &content.Identity{View: c.Zone.View, Namespace: c.Zone.Namespace, Name: c.Zone.Name}
	case b.Base != nil && c.Settled() != (b.Base.Status.SettledSerial == b.Base.Status.Serial):
		// For example, the last step of a cascade changes no content, and lets servers deliver the latest serial.
		key, tx = com.Mem.Layout.StepSettled(c.Zone.UID, c.Zone.N), &content.Transaction{After: c.Zone.N, Settled: c.Settled()}
	default:
		return "", nil, nil
	}
	return key, layout.Encode(tx), tx
}

// sendAlone sends the batch's transaction. After a conflict it also reads the compared keys: in the first try by a
// second request, in later tries by the transaction itself.
func (b *batch) sendAlone(ctx context.Context) outcome {
	var elseOps []clientv3.Op
	if b.retries > 0 {
		// Contended keys: the else branch saves the round trip of a second request.
		elseOps = b.readCompared()
	}
	charged := ctx
	if len(b.groups) == 1 {
		// A change set has its payer in ctx already.
		charged = b.groups[0].firstWrite().withPayer(ctx)
	} else {
		charged = etcd.PaidBy(ctx, b.payers()...)
	}
	o := b.sendTransaction(charged, nil, b.cmps, b.then, elseOps)
	hasConflict := o.err == nil && !o.committed
	if hasConflict && b.retries == 0 {
		// Most first tries succeed, so their requests carry no reads.
		o.r, o.err = b.com.Mem.Client.Txn(ctx).Then(b.readCompared()...).Commit()
	}
	if hasConflict && o.err == nil {
		o.stored = etcd.FirstKVs(o.r.Responses)
	}
	return o
}

func (b *batch) readCompared() (ops []clientv3.Op) {
	for _, z := range b.zones {
		ops = append(ops, clientv3.OpGet(z.Key))
	}
	if b.groups[0].preview {
		// A dry run compares no object.
		return ops
	}
	for _, m := range b.members {
		ops = append(ops, clientv3.OpGet(m.Key))
	}
	return ops
}

// sendTogether sends the batches of several zones in a shared transaction, and gives each an offset and the outcome.
// The first batch sends for the others, and all namespaces share the charge.
func sendTogether(ctx context.Context, all []*parked) outcome {
	var cmps []clientv3.Cmp
	var then []clientv3.Op
	var payers []etcd.Payer
	for _, p := range all {
		p.b.offset = len(then)
		cmps, then, payers = append(cmps, p.b.cmps...), append(then, p.b.then...), append(payers, p.b.payers()...)
	}
	// Without the first caller's deadline, which must not fail the other callers' writes.
	ctx, cancel := context.WithTimeout(etcd.PaidBy(context.WithoutCancel(ctx), payers...), batchTimeout)
	defer cancel()
	first := all[0].b
	defer func() {
		for _, p := range all[1:] { // after a panic, too
			p.b.sent = first.sent
		}
	}()
	o := first.sendTransaction(ctx, all[1:], cmps, then, nil)
	if o.shared = true; errors.Is(o.err, rpctypes.ErrTooManyOps) {
		// Learn the limit here, since each batch commits alone next.
		first.com.Mem.LowerOps(max(len(cmps), len(then)))
	}
	for _, p := range all[1:] {
		p.outcome = &o
	}
	return o
}

// sendTransaction sends a transaction for this batch and others, and sets b.sent until the outcome is certain: the
// caller must report an error with b.sent as an unknown outcome.
func (b *batch) sendTransaction(ctx context.Context, others []*parked, cmps []clientv3.Cmp, then, elseOps []clientv3.Op) outcome {
	com, fault := b.com, b.com.Mem.Fault
	if b.groups[0].preview {
		fault = func(string) {}
	}
	fault("before-commit")
	if err := ctx.Err(); err != nil { // a batch may get its place too late
		return outcome{err: err}
	}
	spans := []trace.Span{b.span}
	for _, p := range others {
		spans = append(spans, p.b.span)
	}
	ctx, span := traces.StartJoint(ctx, "Transaction", spans)
	started := time.Now()
	com.Mem.Stats.Transactions.Add(1)
	// Compares alone write nothing, so a lost answer is no unknown outcome.
	b.sent = len(then) > 0
	if !b.sent && len(cmps) > 0 {
		// A get makes the compares linearizable.
		then = []clientv3.Op{etcd.OpCount(string(cmps[0].KeyBytes()))}
	}
	r, err := com.Mem.Client.Txn(ctx).If(cmps...).Then(then...).Else(elseOps...).Commit()
	o := outcome{r: r, err: err, trip: time.Since(started), committed: err == nil && r.Succeeded, refused: etcd.IsRefused(err)}
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("kubizone.compares", len(cmps)), attribute.Int("kubizone.puts", len(then)),
			attribute.Bool("kubizone.committed", o.committed))
	}
	traces.End(span, err != nil, "etcd")
	if o.refused || err == nil && !o.committed {
		// etcd has written nothing for certain.
		b.sent = false
	}
	if err == nil {
		fault("after-commit")
		if !o.committed {
			com.Mem.Stats.Conflicts.Add(1)
		}
	}
	return o
}

// payerOf returns the namespace to charge for the write: Payer, or the namespace that caused the cascade, or the
// object's.
func (w *Write) payerOf() etcd.Payer {
	by := cmp.Or(w.Payer, w.Namespace)
	if w.Payer == "" && w.OutboxItem != nil {
		by = w.OutboxItem.Work.By
	}
	return etcd.Payer{Namespace: by, Weight: etcd.KeyOctets}
}

func (w *Write) withPayer(ctx context.Context) context.Context {
	if payers, _ := ctx.Value(etcd.PayersKey{}).([]etcd.Payer); len(payers) > 0 && w.Payer == "" {
		return ctx
	}
	return etcd.PaidBy(ctx, w.payerOf())
}

// payers returns the namespaces to charge for a batch, weighed by the octets of their objects. Refused writes pay only
// if the batch writes nothing.
func (b *batch) payers() (all []etcd.Payer) {
	for _, m := range b.members {
		if m.writesObject() || b.writes == 0 {
			by := m.payerOf()
			by.Weight += len(m.op.ValueBytes())
			all = append(all, by)
		}
	}
	return all
}
