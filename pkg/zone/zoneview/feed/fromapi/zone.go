// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/pkg/zone/zoneview/definition"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed"
)

const (
	misfit  = "misfit"
	trimmed = "trimmed"
)

// wantedZone returns the Zone of the informer, or nil if it is gone or of no interest.
func (s *Source) wantedZone(object cache.ObjectName) (*v1alpha1.Zone, error) {
	zone, err := s.Zones.Lister().Zones(object.Namespace).Get(object.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !s.Interest(zone):
		return nil, nil
	}
	return zone, nil
}

// updateZone brings a zone in the Set to its settled serial: by its changes, or by reading all entries if the changes
// are no longer kept or do not fit.
func (s *Source) updateZone(ctx context.Context, object cache.ObjectName) error {
	zone, err := s.wantedZone(object)
	if err != nil {
		return err
	}
	key, uid := object.String(), ""
	if zone != nil && zone.Status.FQDN != "" { // an ended zone has no name (S3.7), but may return with the same UID
		uid = string(zone.UID)
	}

	s.RemoveUnless(key, uid)

	if zone == nil || zone.Status.SettledSerial == 0 {
		return nil // nothing to deliver until an event
	}

	// Incremental first. A changed hash, a gap, or another Zone of the name needs the whole zone.
	if snapshot, ok := s.Set.Settled(string(zone.UID)); ok {
		err := s.countRestart(s.followZone(ctx, zone, snapshot))
		if !errors.Is(err, zoneview.ErrMisfit) && !isExpired(err) {
			return err
		}
		klog.FromContext(ctx).Info("a zone is read again", "zone", key, "serial", snapshot.Serial(), "reason", err)
	}
	return s.countRestart(s.readZone(ctx, object, zone))
}

func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

func (s *Source) countRestart(err error) error {
	switch {
	case errors.Is(err, zoneview.ErrMisfit):
		s.metrics.restarts.WithLabelValues(misfit).Inc()
	case isExpired(err):
		s.metrics.restarts.WithLabelValues(trimmed).Inc()
	}
	return err
}

// followZone applies the changes from the snapshot to the settled serial. A snapshot at this serial is only compared.
func (s *Source) followZone(ctx context.Context, zone *v1alpha1.Zone, snapshot *zoneview.Snapshot) error {
	settled := serial.Serial(zone.Status.SettledSerial)
	if snapshot.Serial() == settled {
		// A restored store may have other content with the same serial.
		if zone.Status.Serial == zone.Status.SettledSerial && zone.Status.Hash != snapshot.Hash() {
			return fmt.Errorf("%s, serial %d: %w: its hash is %s, the Zone says %s", snapshot, settled, zoneview.ErrMisfit, snapshot.Hash(),
				zone.Status.Hash)
		}
		return nil
	}
	steps, err := s.readSteps(ctx, zone, snapshot.Serial(), settled)
	if err != nil {
		return err
	}
	return s.Set.Apply(string(zone.UID), content.Transaction{Steps: steps, Settled: true}, snapshot.Zone())
}

// readZone reads a zone, proves its content, and follows the Zone meanwhile, since the proof of a large zone takes
// longer than the server keeps changes.
func (s *Source) readZone(ctx context.Context, object cache.ObjectName, zone *v1alpha1.Zone) error {
	snapshot, err := definition.Read(ctx, s.Client, zone)
	if err != nil {
		return err
	}

	var proving sync.WaitGroup
	defer proving.Wait()
	// Cancel the proof of a removed or replaced zone, so that it does not enter the Set.
	proofContext, cancel := context.WithCancel(ctx)
	defer cancel()

	var proof chan error
	for at := snapshot.Serial(); ; {
		now, err := s.wantedZone(object)
		if err != nil {
			return err
		}
		// The zone went, or another Zone has its name: its own event leads to another read.
		if now == nil || now.UID != zone.UID {
			return nil
		}

		settled := serial.Serial(now.Status.SettledSerial)
		switch {
		// First move to the settled serial, as the entries are of the newest serial.
		case proof == nil:
			if snapshot, err = s.moveToSerial(ctx, now, snapshot, settled); err == nil {
				proof = make(chan error, 1)
				begun := s.BeginProof(object.String(), feed.UnprovenZone{Snapshot: snapshot, Settled: true})
				proving.Go(func() { proof <- begun.Run(proofContext) })
			}
		// The zone has settled again during the proof. The feed queues the changes.
		case settled != at:
			var steps []content.Step
			if steps, err = s.readSteps(ctx, now, at, settled); err == nil {
				err = s.Apply(ctx, object.String(), content.Transaction{Steps: steps, Settled: true}, zoneview.Zone{})
			}
		}
		if err != nil {
			return err
		}

		at = settled
		select {
		case err := <-proof:
			return err
		case <-time.After(s.catchUpInterval):
		}
	}
}

// moveToSerial returns the snapshot at the settled serial, by changes forwards or, while a cascade or hold delays the
// settled serial, backwards.
func (s *Source) moveToSerial(ctx context.Context, zone *v1alpha1.Zone, snapshot *zoneview.Snapshot, settled serial.Serial) (
	*zoneview.Snapshot, error) {
	switch {
	case settled == snapshot.Serial():
		return snapshot, nil
	case settled.Ahead(snapshot.Serial()):
		steps, err := s.readSteps(ctx, zone, snapshot.Serial(), settled)
		for _, step := range steps {
			if snapshot, err = snapshot.Apply(step); err != nil {
				break
			}
		}
		return snapshot, err
	}
	steps, err := s.readSteps(ctx, zone, settled, snapshot.Serial())
	if err != nil {
		return nil, err
	}
	return snapshot.UndoAll(steps)
}

func (s *Source) readSteps(ctx context.Context, zone *v1alpha1.Zone, since, until serial.Serial) ([]content.Step, error) {
	traced := s.traced.Load()
	steps, err := definition.ReadSteps(ctx, s.Client, zone, since, until, traced)
	// Deliveries need no traces, so continue without.
	if apierrors.IsForbidden(err) && traced {
		if s.traced.Swap(false) {
			klog.FromContext(ctx).Error(err, "Traces end at the API server; allow this account to list records, then restart this process")
		}
		steps, err = definition.ReadSteps(ctx, s.Client, zone, since, until, false)
	}
	return steps, err
}
