// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/zoneview"
)

const (
	// firstThaw doubles up to longestThaw: somebody who mends a zone need not restart the server, and a store that
	// stays damaged is not read over and over.
	firstThaw   = time.Minute
	longestThaw = time.Hour
)

// errThaw ends a start so that frozen zones are read again.
var errThaw = errors.New("frozen zones are read again")

// frozenZone is one that cannot be proven, and why.
type frozenZone struct {
	zone cache.ObjectName
	err  error
}

// Base takes in a zone and proves it in the background: 7 µs a value, which a big zone must not make the others wait
// for. Until then the Set has what it had, proven before, or nothing.
func (s *start) Base(base ledger.Base) {
	identity := zoneOf(base.Zone.UID, base.Identity)
	snapshot := zoneview.NewSnapshot(identity, base.Zone.Header, base.Zone.Serial, base.Zone.N, base.Zone.State, slices.Values(merged(base.Sets)))
	s.listed[identity.UID] = true
	known, here := s.feed.set.ByUID(identity.UID)
	here = here && known.N() == snapshot.N() && known.Serial() == snapshot.Serial() && known.Hash() == snapshot.Hash()
	s.mutex.Lock()
	s.feed.uids[identity.UID] = identity
	waits := &proving{identity: identity, here: here}
	s.proving[identity.UID] = waits
	if here && base.Settled {
		s.take(identity.UID, content.Transaction{After: snapshot.N(), Settled: true})
	}
	s.mutex.Unlock()
	proofs := s.proofs
	proofs.Add(1)
	s.all.Go(func() {
		defer proofs.Done()
		select {
		case s.turns <- struct{}{}:
			defer func() { <-s.turns }()
		case <-s.ctx.Done():
			return
		}
		err := snapshot.Prove()
		if err == nil && base.Hash != "" && snapshot.Hash() != base.Hash {
			err = fmt.Errorf("%s: %w: its hash is %s, the zone claims %s", snapshot, zoneview.ErrMisfit, snapshot.Hash(), base.Hash)
		}
		var delivered *zoneview.Snapshot
		switch {
		case err != nil:
		case base.Settled:
			delivered = snapshot
		case len(base.Since) > 0:
			var damaged error
			if delivered, damaged = undo(snapshot, base.Since); damaged != nil {
				klog.FromContext(s.ctx).Error(damaged, "The journal does not lead back to what is delivered of a zone: it is served again when it settles; run kubizone fsck", "zone", snapshot.String())
			}
		}
		s.proved(waits, snapshot, delivered, base.Since, err)
	})
}

// undo is the state before the steps.
func undo(snapshot *zoneview.Snapshot, steps []content.Step) (*zoneview.Snapshot, error) {
	for _, step := range slices.Backward(steps) {
		var err error
		if snapshot, err = snapshot.Undo(step); err != nil {
			return nil, err
		}
	}
	return snapshot, nil
}

// proved ends a proof: the zone is put in and led on by what came meanwhile, or frozen. delivered is the state that
// is delivered, some steps before snapshot where the zone is unsettled; nil: it is not known.
func (s *start) proved(waits *proving, snapshot, delivered *zoneview.Snapshot, since []content.Step, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	uid := snapshot.Zone().UID
	if s.proving[uid] != waits || s.ctx.Err() != nil {
		return // it went, or all is read anew
	}
	delete(s.proving, uid)
	if err != nil {
		s.feed.freeze(s.ctx, uid, waits.identity, err)
		return
	}
	s.feed.melt(uid)
	switch {
	case waits.here:
	case delivered == nil || delivered == snapshot:
		s.feed.set.Put(snapshot, delivered != nil)
	default:
		s.feed.set.PutUnsettled(snapshot, delivered, since)
	}
	for _, tx := range waits.waiting {
		s.take(uid, tx)
	}
}

// Ready drops what the listing does not have, and tells when all of it is proven or frozen.
func (s *start) Ready() {
	f := s.feed
	s.mutex.Lock()
	for uid, identity := range f.uids {
		key := identity.Namespace + "/" + identity.Name
		switch err := s.broken[key]; {
		case s.listed[uid]:
		case err != nil:
			f.freeze(s.ctx, uid, identity, err)
			delete(s.broken, key)
		default:
			f.set.Remove(uid)
			f.melt(uid)
			delete(f.uids, uid)
		}
	}
	for key, err := range s.broken {
		f.freeze(s.ctx, key, zoneview.Zone{}, err)
	}
	f.meltAllBut(func(key string) bool {
		return s.listed[key] || s.broken[key] != nil || f.uids[key] != (zoneview.Zone{})
	})
	s.mutex.Unlock()
	s.listed = nil
	listing, proofs := s.listings, s.proofs
	s.all.Go(func() {
		proofs.Wait()
		f.mutex.Lock()
		defer f.mutex.Unlock()
		if s.ctx.Err() != nil || s.listings != listing {
			return
		}
		f.proven, f.wrong, f.failures = true, nil, 0
		f.changed()
	})
}

// freeze keeps a zone as it is in the Set: at the last serial that was proven, or not there at all. What is not
// proven is handed to nobody.
func (f *feed) freeze(ctx context.Context, key string, zone zoneview.Zone, err error) {
	named := cache.NewObjectName(zone.Namespace, zone.Name)
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		named = cache.NewObjectName(namespace, name) // nothing else of it can be read
	}
	f.mutex.Lock()
	_, known := f.frozen[key]
	f.frozen[key] = frozenZone{named, err}
	f.proofsFailed++
	f.mutex.Unlock()
	if !known {
		klog.FromContext(ctx).Error(err, "a zone is frozen: what is stored of it is not what its hash says. It is served as it was proven last, or not at all. kubizone fsck says what is damaged",
			"zone", klog.KRef(named.Namespace, named.Name), "key", key)
	}
}

// melt forgets that a zone was frozen.
func (f *feed) melt(key string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if _, was := f.frozen[key]; was {
		delete(f.frozen, key)
		klog.Background().Info("a frozen zone is proven again, or gone", "key", key)
	}
}

func (f *feed) meltAllBut(keep func(key string) bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for key := range f.frozen {
		if !keep(key) {
			delete(f.frozen, key)
		}
	}
}

func (f *feed) frozenBy(uid string) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.frozen[uid].err
}

// Frozen are the zones that cannot be proven at this moment.
func (s *Server) Frozen() []cache.ObjectName {
	f := s.feed
	f.mutex.Lock()
	defer f.mutex.Unlock()
	zones := make([]cache.ObjectName, 0, len(f.frozen))
	for _, one := range f.frozen {
		zones = append(zones, one.zone)
	}
	return zones
}

func (f *feed) frozenZones() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return len(f.frozen)
}

// unproven is what a reader of a frozen zone is told, as Kubernetes says that a stored object cannot be read. The
// reason is for the log: it may name Records of others (S1.7).
func unproven(zone *v1alpha1.Zone) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonStoreReadError,
		Message: fmt.Sprintf("zone %s is frozen: what is stored of it is not what its hash says, so it is not handed out. The server's log and kubizone fsck say what is damaged", zone.Status.FQDN),
		Details: &metav1.StatusDetails{Group: v1alpha1.GroupName, Kind: "zones", Name: zone.Name, UID: zone.UID},
	}}
}
