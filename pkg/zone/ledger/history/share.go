// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const (
	// The history gets a tenth of etcd's quota, and each namespace a quarter of that as its share. If all shares exceed
	// the tenth, the largest shrink to an equal size, the level. Up to half of a share is for steps in other namespaces
	// that this namespace caused, in equal parts.
	quotaDivisor  = 10
	shareDivisor  = 4
	causedDivisor = 2
	// Former Records of journal steps get another eighth of the history, or of a namespace's share.
	statesDivisor = 8
	unknownQuota  = 2 << 30 // etcd's default
	// Shrinking goes a sixteenth below the share, so few later archives must shrink it again.
	slack        = 16
	shrunkAtOnce = 8
)

// Share records the size of an account's history. An account is a namespace, or "NAMESPACE@CAUSE" for steps caused by
// the namespace CAUSE. Beyond the limit, the account's oldest segments become bare: they lose values and former
// Records.
type Share struct {
	Octets     int64  `json:"o"`            // keys and values of all segments
	Whole      int64  `json:"t,omitempty"`  // a Unix time; no step since then is bare
	Bare       string `json:"b,omitempty"`  // key of the last bare segment
	BareOctets int64  `json:"bo,omitempty"` // keys and values of bare segments
}

func (a *Archive) limit() int64 {
	quota := int64(0)
	if a.Quota != nil {
		quota = a.Quota()
	}
	if quota <= 0 {
		quota = unknownQuota
	}
	return quota / quotaDivisor
}

type charge struct{ accounts, octets int64 }

// shareOf returns the limit of an account's octets. A namespace pays for the steps that it caused elsewhere: these
// accounts divide half of its share, and reduce its own account.
func (a *Archive) shareOf(account string) int64 {
	each := a.limit() / shareDivisor
	// While the history is above its limit, the level holds for all.
	if level := a.level.Load(); level > 0 {
		each = min(each, level)
	}
	namespace, causedBy := layout.SplitAccount(account)
	var of charge
	if charges := a.charges.Load(); charges != nil {
		of = (*charges)[causedBy]
	}
	if namespace != causedBy {
		return each / causedDivisor / max(1, of.accounts)
	}
	return each - min(each/causedDivisor, of.octets)
}

// StatesRoom returns the size of before/ beyond which each write with a state triggers an archive of the zone.
func (a *Archive) StatesRoom() int64 { return a.limit() / statesDivisor }

func (a *Archive) StatesRoomOf(namespace string) int64 { return a.shareOf(namespace) / statesDivisor }

// levelOf returns the equal size to which the largest of octets must shrink so that all together have at most most
// octets, or 0 if they do already. It sorts octets.
func levelOf(octets []int64, most int64) int64 {
	slices.Sort(octets)
	sum := int64(0)
	for _, o := range octets {
		sum += o
	}
	if sum <= most {
		return 0
	}
	// From the smallest on: octets below the equal part stay, and the others divide the rest.
	left := most
	for i, o := range octets {
		each := left / int64(len(octets)-i)
		if o > each {
			return max(1, each)
		}
		left -= o
	}
	return 0
}

const (
	// The level is set again after a levelDivisor-th of the history was archived, or after levelEvery seconds.
	levelDivisor = 8
	levelEvery   = 30
)

func (a *Archive) refreshLevel(ctx context.Context, octets int64) {
	if a.addedOctets.Add(octets) < a.limit()/levelDivisor && a.Now().Unix() < a.levelledAt.Load()+levelEvery || !a.levelMutex.TryLock() {
		return
	}
	defer a.levelMutex.Unlock()
	if err := a.setLevel(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "The level of the history's shares is not known; it is tried again")
	}
}

// setLevel computes level and charges from all shares, and shrinks the accounts above their share. Servers compute
// alike, and two at once do no harm, since each shrinking compares the share.
func (a *Archive) setLevel(ctx context.Context) error {
	a.addedOctets.Store(0)
	a.levelledAt.Store(a.Now().Unix())
	shares, err := a.readShares(ctx)
	if err != nil {
		return err
	}

	// Both parts count for the namespace that caused the steps.
	byCause, charges := map[string]int64{}, map[string]charge{}
	for account, octets := range shares {
		namespace, causedBy := layout.SplitAccount(account)
		if byCause[causedBy] += octets; namespace != causedBy {
			charges[causedBy] = charge{charges[causedBy].accounts + 1, charges[causedBy].octets + octets}
		}
	}

	a.level.Store(levelOf(slices.Collect(maps.Values(byCause)), a.limit()))
	a.charges.Store(&charges)
	for account, octets := range shares {
		if octets <= a.shareOf(account) {
			continue
		}
		if _, _, _, err := a.makeRoom(ctx, account, 0); err != nil {
			return err
		}
	}

	return nil
}

// readShares returns the octets by account. A damaged share is logged and left out.
func (a *Archive) readShares(ctx context.Context) (map[string]int64, error) {
	shares, room := map[string]int64{}, a.Layout.Room("shares")
	_, err := etcd.Scan(ctx, a.Client, room, "", 0, func(kv *mvccpb.KeyValue) error {
		var s Share
		if err := layout.Decode(kv.Value, &s); err != nil {
			klog.FromContext(ctx).Error(layout.Unreadable(string(kv.Key), err), "A share of the history is damaged")
		} else if account := strings.TrimPrefix(string(kv.Key), room); account != layout.EveryNamespace {
			shares[account] = s.Octets
		}
		return nil
	})
	return shares, err
}

// Began returns the Unix time at which an upgrade or restore began the store's history, 0 for a store with history
// since its creation.
func (a *Archive) Began(ctx context.Context) (int64, error) {
	s, _, err := a.readShare(ctx, layout.EveryNamespace)
	return s.Whole, err
}

// readShare returns an account's share and the version of its key. A share not stored yet has version 0.
func (a *Archive) readShare(ctx context.Context, account string) (s Share, mod int64, err error) {
	shares, err := a.readSharesOf(ctx, []string{account})
	return shares[account].Share, shares[account].mod, err
}

type storedShare struct {
	Share
	mod int64 // 0 for a new share
}

// readSharesOf reads shares by a single request, whatever their number.
func (a *Archive) readSharesOf(ctx context.Context, accounts []string) (map[string]storedShare, error) {
	var gets []clientv3.Op
	for _, account := range accounts {
		gets = append(gets, clientv3.OpGet(a.Layout.Share(account)))
	}
	r, err := a.Client.Txn(ctx).Then(gets...).Commit()
	if err != nil {
		return nil, err
	}
	shares := map[string]storedShare{}
	for i, account := range accounts {
		var s storedShare
		for _, kv := range r.Responses[i].GetResponseRange().Kvs {
			s.mod = kv.ModRevision
			if err := layout.Decode(kv.Value, &s.Share); err != nil {
				return nil, layout.Unreadable(string(kv.Key), err)
			}
		}
		shares[account] = s
	}
	return shares, nil
}

// makeRoom shrinks an account until octets more fit. The result fits is false if they never do: then nothing more is
// deleted for them. The share is returned with its version, for the compare of the caller's transaction.
func (a *Archive) makeRoom(ctx context.Context, account string, octets int) (s Share, mod int64, fits bool, err error) {
	most := a.shareOf(account)
	for {
		if s, mod, err = a.readShare(ctx, account); err != nil {
			return s, mod, false, err
		}
		if s.Octets+int64(octets) <= most {
			return s, mod, true, nil
		}
		if int64(octets) > most || s.Octets == 0 {
			return s, mod, false, nil
		}
		// Shrinking may lose a race to another server, so the share is read again.
		if err := a.shrinkOldest(ctx, account, s, mod, most-most/slack-int64(octets)); err != nil {
			return s, mod, false, err
		}
	}
}

// shrinkOldest reduces an account to about the limit of octets (most). It strips the oldest full segments of rows and
// states. If bare segments already have half of the limit, it deletes the oldest segments. Nothing changes if another
// server has changed the share.
func (a *Archive) shrinkOldest(ctx context.Context, account string, s Share, mod int64, most int64) error {
	from, end := a.Layout.Segments(account), clientv3.GetPrefixRangeEnd(a.Layout.Segments(account))
	// Bare segments may have half of the limit. Beyond, the oldest are deleted.
	strips := s.BareOctets < max(most, 1)/2
	if strips && s.Bare != "" {
		from = s.Bare + "\x00"
	}
	r, err := a.Client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(shrunkAtOnce))
	if err != nil {
		return err
	}

	// Every segment is bare, whatever the share counted.
	if len(r.Kvs) == 0 && strips && s.Bare != "" { // all are bare
		s.BareOctets = s.Octets
		strips = false
		from = a.Layout.Segments(account)
		if r, err = a.Client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(shrunkAtOnce)); err != nil {
			return err
		}
	}

	if len(r.Kvs) == 0 { // the share counts missing segments, which fsck reports
		s = Share{Whole: s.Whole}
	}
	var ops []clientv3.Op
	for _, kv := range r.Kvs {
		key, octets := string(kv.Key), int64(len(kv.Key)+len(kv.Value))
		at, _ := a.Layout.ParseSegment(key)
		// The account is whole only after this segment, since the segment loses values or goes.
		s.Whole = max(s.Whole, at.Time+1)
		segment, _ := DecodeSegment(kv.Value) // nil for damage
		var bare []byte
		if strips && segment != nil && !segment.Header.Bare {
			bare = stripSegment(segment)
		}

		// A bare segment only moves the mark. A stripped segment replaces the whole, and others go.
		switch {
		case strips && segment != nil && segment.Header.Bare:
			s.Bare = key
		case bare != nil:
			ops = append(ops, etcd.OpPut(key, bare))
			s.Bare, s.BareOctets = key, s.BareOctets+int64(len(key)+len(bare))
			s.Octets -= int64(len(kv.Value) - len(bare))
		default:
			ops = append(ops, clientv3.OpDelete(key))
			s.removeSegment(segment, octets)
		}

		// Stop at the aim, so that no more history is lost than needed.
		if s.Octets <= most {
			break
		}
	}

	ops = append(ops, etcd.OpPut(a.Layout.Share(account), layout.Encode(&s)))
	a.Fault("shrink-history")
	_, err = a.Client.Txn(ctx).If(etcd.RevisionIs(a.Layout.Share(account), mod)).Then(ops...).Commit()
	return err
}

func (s *Share) removeSegment(segment *Segment, octets int64) {
	s.Octets = max(0, s.Octets-octets)
	if segment != nil && segment.Header.Bare {
		s.BareOctets = max(0, s.BareOctets-octets)
	}
}

func (s *Share) addSegment(key string, octets int64, bare bool) {
	s.Octets += octets
	if bare {
		s.BareOctets += octets
	}
	if key < s.Bare {
		s.Bare = key[:len(key)-1]
	}
}

func isBare(value []byte) bool {
	s, err := DecodeSegment(value)
	return err == nil && s.Header.Bare
}

func stripSegment(s *Segment) []byte {
	header := s.Header
	header.Bare = true
	value, _ := encodeSegment(&header, bareEntries(s.Entries))
	return value
}

func bareEntries(entries []Entry) []Entry {
	bare := make([]Entry, 0, len(entries))
	for i := range entries {
		bare = append(bare, Entry{Step: bareStep(&entries[i].Step), Removed: entries[i].Removed})
	}
	return bare
}

// bareStep returns a step without values. The changed RRsets stay, as TTLs without a ttl: they are the names that the
// step hides from a reader of the zone's past, and no others.
func bareStep(step *content.Step) content.Step {
	return content.Step{N: step.N, From: step.From, Serial: step.Serial, Record: step.Record, Others: step.Others, By: step.By,
		Origin: step.Origin, Time: step.Time, TTLs: changedRRsets(step)}
}

// changedRRsets returns the RRsets that the step changed, each once and without a TTL. A bare step keeps them, so
// that a reader knows which names its missing values hide.
func changedRRsets(step *content.Step) (all []content.TTLChange) {
	for _, rows := range [][]content.Row{step.Removed, step.Added} {
		for i := range rows {
			all = append(all, content.TTLChange{Owner: rows[i].Owner, Type: rows[i].Type})
		}
	}
	for _, change := range step.TTLs {
		all = append(all, content.TTLChange{Owner: change.Owner, Type: change.Type})
	}
	slices.SortFunc(all, func(x, y content.TTLChange) int {
		return cmp.Or(x.Owner.Compare(y.Owner), cmp.Compare(x.Type, y.Type))
	})
	return slices.Compact(all)
}
