// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/zoneview"
)

const (
	// entriesTime and changesTime bound one answer.
	entriesTime = 15 * time.Minute
	changesTime = time.Minute
	// keepUp is how often a zone that is still being proven is led on: the server holds the steps of a busy zone for
	// seconds only.
	keepUp = time.Second
)

// reasons why a zone is read anew.
const (
	misfit  = "misfit"
	trimmed = "trimmed"
)

// wanted is the Zone as the watch last told of it; nil where it does not belong in the Set.
func (f *Feed) wanted(object cache.ObjectName) (*v1alpha1.Zone, error) {
	zone, err := f.Zones.Lister().Zones(object.Namespace).Get(object.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !f.Interest(zone):
		return nil, nil
	}
	return zone, nil
}

// bring makes the Set say of one zone what its Zone says. An error is one to try again after.
func (f *Feed) bring(ctx context.Context, object cache.ObjectName) error {
	zone, err := f.wanted(object)
	if err != nil {
		return err
	}
	f.mutex.Lock()
	known := f.uids[object]
	f.mutex.Unlock()
	if known != "" && (zone == nil || known != string(zone.UID)) {
		f.Set.Remove(known)
		f.remember(object, "")
	}
	if zone != nil && zone.Status.FQDN == "" && known != "" { // it ended (S3.4), and may come again with this uid
		f.Set.Remove(known)
		f.remember(object, "")
	}
	if zone == nil || zone.Status.SettledSerial == 0 {
		return nil // S7.2: there is nothing to deliver, and an event will say when there is
	}
	if snapshot, ok := f.Set.Settled(string(zone.UID)); ok {
		err := f.count(f.follow(ctx, zone, snapshot))
		if !errors.Is(err, zoneview.ErrMisfit) && !expired(err) {
			return err
		}
		klog.FromContext(ctx).Info("a zone is read anew", "zone", object.String(), "serial", snapshot.Serial(), "reason", err)
	}
	return f.count(f.start(ctx, object, zone))
}

// expired is the 410 of a server that no longer holds a serial.
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// count is err, counted where a zone is to be read anew for it.
func (f *Feed) count(err error) error {
	switch {
	case errors.Is(err, zoneview.ErrMisfit):
		f.failed.WithLabelValues(misfit).Inc()
	case expired(err):
		f.failed.WithLabelValues(trimmed).Inc()
	}
	return err
}

func (f *Feed) remember(object cache.ObjectName, uid string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if uid == "" {
		delete(f.uids, object)
		return
	}
	f.uids[object] = uid
}

// follow leads a zone that is in the Set to its settled serial.
func (f *Feed) follow(ctx context.Context, zone *v1alpha1.Zone, snapshot *zoneview.Snapshot) error {
	settled := serial.Serial(zone.Status.SettledSerial)
	if snapshot.Serial() == settled {
		// A store that was restored may have come to the same serial another way.
		if zone.Status.Serial == zone.Status.SettledSerial && zone.Status.Hash != snapshot.Hash() {
			return fmt.Errorf("%s, serial %d: %w: its hash is %s, the Zone says %s", snapshot, settled, zoneview.ErrMisfit, snapshot.Hash(), zone.Status.Hash)
		}
		return nil
	}
	steps, err := f.steps(ctx, zone, snapshot.Serial(), settled)
	if err != nil {
		return err
	}
	return f.Set.Apply(string(zone.UID), content.Transaction{Steps: steps, Settled: true}, snapshot.Zone())
}

// start reads a zone whole, proves it, and puts it in at its settled serial.
func (f *Feed) start(ctx context.Context, object cache.ObjectName, zone *v1alpha1.Zone) error {
	snapshot, err := f.definition(ctx, zone)
	if err != nil {
		return err
	}
	proof := make(chan error, 1)
	var proving sync.WaitGroup
	defer proving.Wait()
	base := snapshot
	proving.Go(func() { proof <- base.Prove() })
	for {
		// What was read is the newest state. The settled one may be some steps before it, and both go on meanwhile.
		now, err := f.wanted(object)
		if err != nil {
			return err
		}
		if now == nil || now.UID != zone.UID {
			return nil // the event that said so is in the queue
		}
		if snapshot, err = f.lead(ctx, now, snapshot); err != nil {
			return err
		}
		select {
		case err := <-proof:
			if err != nil {
				return err
			}
			f.Set.Put(snapshot, true)
			f.remember(object, string(zone.UID))
			return nil
		case <-time.After(keepUp):
		}
	}
}

// lead is the settled state of zone, from a snapshot some steps before or after it.
func (f *Feed) lead(ctx context.Context, zone *v1alpha1.Zone, snapshot *zoneview.Snapshot) (*zoneview.Snapshot, error) {
	settled := serial.Serial(zone.Status.SettledSerial)
	switch {
	case settled == snapshot.Serial():
		return snapshot, nil
	case settled.Ahead(snapshot.Serial()):
		steps, err := f.steps(ctx, zone, snapshot.Serial(), settled)
		for _, step := range steps {
			if snapshot, err = snapshot.Apply(step); err != nil {
				break
			}
		}
		return snapshot, err
	}
	steps, err := f.steps(ctx, zone, settled, snapshot.Serial())
	for _, step := range slices.Backward(steps) {
		if snapshot, err = snapshot.Undo(step); err != nil {
			break
		}
	}
	return snapshot, err
}

// read asks for one subresource of a zone in the form definition.
func (f *Feed) read(ctx context.Context, zone *v1alpha1.Zone, subresource string, parameters map[string]string) (io.ReadCloser, error) {
	request := f.Client.Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource(subresource).
		Param("form", v1alpha1.FormDefinition).SetHeader("Accept", "application/json")
	for name, value := range parameters {
		request = request.Param(name, value)
	}
	return request.Stream(ctx)
}

// definition is the newest state of the zone, unproven.
func (f *Feed) definition(ctx context.Context, zone *v1alpha1.Zone) (*zoneview.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, entriesTime)
	defer cancel()
	body, err := f.read(ctx, zone, "entries", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	snapshot, err := readDefinition(body, identity(zone))
	if err != nil {
		return nil, fmt.Errorf("entries of zone %s/%s: %w", zone.Namespace, zone.Name, err)
	}
	return snapshot, nil
}

// steps lead from the serial since to the serial until.
func (f *Feed) steps(ctx context.Context, zone *v1alpha1.Zone, since, until serial.Serial) ([]content.Step, error) {
	ctx, cancel := context.WithTimeout(ctx, changesTime)
	defer cancel()
	body, err := f.read(ctx, zone, "changes", map[string]string{
		"since": strconv.FormatUint(uint64(since), 10), "until": strconv.FormatUint(uint64(until), 10),
	})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var changes v1alpha1.ZoneChanges
	err = json.NewDecoder(body).Decode(&changes)
	var steps []content.Step
	if err == nil {
		steps, err = stepsOf(&changes, string(zone.UID), since, until)
	}
	if err != nil {
		return nil, fmt.Errorf("changes of zone %s/%s from serial %d to %d: %w", zone.Namespace, zone.Name, since, until, err)
	}
	return steps, nil
}

func identity(zone *v1alpha1.Zone) zoneview.Zone {
	return zoneview.Zone{UID: string(zone.UID), View: zone.Status.View, Namespace: zone.Namespace, Name: zone.Name}
}
