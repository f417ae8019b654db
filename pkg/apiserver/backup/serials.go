// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/etcd/maintenance"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
)

// parallelRaises limits concurrent writes, which etcd merges on disk.
const parallelRaises = 32

// raiseSerials advances the serials of zones (by spec.minimumSerial), of names without a zone, and the floor, the first
// serial of unknown names. No server may run. The second number counts the zones whose advance is limited
// (Clock.serial).
func raiseSerials(ctx context.Context, source apiserver.Source, clock Clock) (zones, limited int, err error) {
	client, codecOf, err := source.Open(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	zoneCodec := codecOf("zones")
	opened, err := ledger.Open(ctx, ledger.Config{Client: client.Client, Prefix: apiserver.Prefix, Zones: zoneCodec,
		Records: codecOf("records"), Delegations: codecOf("delegations")})
	if err != nil {
		return 0, 0, err
	}
	// Zones are written as by a server, with a new serial, journal step and hash.
	versioner := storage.APIObjectVersioner{}
	compactor := etcd3.NewCompactor(client.Client, 0, nil, nil)
	defer compactor.Stop()
	raw, err := etcd3.New(ledger.StorageClient(client, ledger.Versions(apiserver.Prefix)), subrev.Compactor(compactor), zoneCodec.Codec,
		func() runtime.Object { return &v1alpha1.Zone{} }, func() runtime.Object { return &v1alpha1.ZoneList{} },
		apiserver.Prefix, "/"+v1alpha1.GroupName+"/zones", v1alpha1.Resource("zones"), zoneCodec.Transformer,
		etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(zoneCodec.Codec, versioner), versioner)
	if err != nil {
		return 0, 0, fmt.Errorf("storage of zones: %w", err)
	}
	defer raw.Close()

	keys := opened.Layout()
	// A name without a zone keeps its last serial, from which a recreated zone goes on (S6.10).
	if err := raiseKeptSerials(ctx, opened.Client(), keys.Room("serials"), clock); err != nil {
		return 0, 0, err
	}
	if err := raiseFloor(ctx, opened.Client(), keys.Key(law.FloorKey), clock); err != nil {
		return 0, 0, err
	}
	// The history before the restore would have numbers and times of another store.
	if err := opened.ForgetHistory(ctx); err != nil {
		return 0, 0, err
	}
	if _, err := client.Client.Delete(ctx, maintenance.BeganKey(apiserver.Prefix)); err != nil { // its log starts over
		return 0, 0, err
	}
	store := opened.Zones(raw)
	group, ctx := errgroup.WithContext(genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: v1alpha1.RestoreUser}))
	group.SetLimit(parallelRaises)
	var revision int64
	var shorter atomic.Int64

	// Raise all zones at the same revision, many at once.
	err = etcd.Each(ctx, client.Client, keys.Objects("zones"), &revision, func(key string, _ []byte, _ int64) error {
		zones++
		group.Go(func() error {
			short, err := raiseZone(ctx, store, key[len(apiserver.Prefix):], clock)
			if short {
				shorter.Add(1)
			}
			return err
		})
		return nil
	})
	if wrong := group.Wait(); wrong != nil {
		err = wrong
	}
	return zones, int(shorter.Load()), err
}

// raiseZone advances the serial of a zone. The result limited is true if the zone gets a smaller advance than the
// backup's age. A pending zone has no serial and stays.
func raiseZone(ctx context.Context, zones storage.Interface, key string, at Clock) (limited bool, err error) {
	var target *serial.Serial
	// The target is chosen once. If the date's serial has overtaken it meanwhile, try again with a later one.
	for range 3 {
		var last serial.Serial
		after := &v1alpha1.Zone{}
		done := false
		err := zones.GuaranteedUpdate(ctx, key, after, false, nil, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64,
			error) {
			zone := in.(*v1alpha1.Zone)
			last = serial.Serial(zone.Status.Serial)
			if done = last == 0; done {
				return zone, nil, nil // a pending zone
			}
			if target == nil {
				var begins serial.Serial
				begins, limited = at.serial(last)
				target = &begins
			}
			if done = last == *target; done {
				return zone, nil, nil
			}
			// A minimumSerial that is not ahead would have no effect (S6.8).
			next := *target
			if !next.Ahead(last) {
				next, _ = law.NextSerial(last, at.Now, nil, nil)
			}
			zone.Spec.MinimumSerial = ptr.To(int64(next))
			zone.Generation++
			return zone, nil, nil
		}, nil)
		if err != nil {
			return false, fmt.Errorf("raising the serial of %s: %w", key, err)
		}
		now := serial.Serial(after.Status.Serial)
		if done || now == *target {
			return limited, nil
		}
		// The server ignored minimumSerial, so another try would not help.
		if now == last {
			return false, fmt.Errorf("raising the serial of %s: it stays at %d with minimumSerial %d", key, last, *after.Spec.MinimumSerial)
		}
	}
	return false, fmt.Errorf("raising the serial of %s to %d: it went elsewhere, as at midnight; restore again", key, *target)
}

func (c Clock) raise(last *law.LastSerial) {
	was := last.Serial
	if last.Serial, _ = c.serial(was); last.Jump > 0 {
		last.Jump += uint32(last.Serial - was)
	}
}

// raiseKeptSerials advances the last serials of names under a room, in place.
func raiseKeptSerials(ctx context.Context, client *clientv3.Client, room string, at Clock) error {
	var revision int64
	return etcd.Each(ctx, client, room, &revision, func(key string, value []byte, _ int64) error {
		text, err := layout.Rewrite(value, at.raise)
		if err != nil {
			return fmt.Errorf("%s does not parse: %w; run kubizone fsck", key, err)
		}
		if _, err := client.Put(ctx, key, string(text)); err != nil {
			return fmt.Errorf("raising the serial of %s: %w", key, err)
		}
		return nil
	})
}

func (c Clock) leaveFloor(last *law.LastSerial) {
	if floor, _ := c.serial(0); last.Serial == 0 || floor.Ahead(last.Serial) {
		last.Serial = floor
	}
	if last.Jump == 0 {
		last.Jump = uint32(c.age(mostAhead))
	}
	last.Left = serial.KeptSeconds
}

// raiseFloor advances the floor: zones made after the backup are lost, and a new zone of such a name must begin ahead
// of the lost serials.
func raiseFloor(ctx context.Context, client *clientv3.Client, key string, at Clock) error {
	answer, err := client.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	// A store that was never restored has no floor.
	value := []byte("{}")
	if len(answer.Kvs) > 0 {
		value = answer.Kvs[0].Value
	}
	text, err := layout.Rewrite(value, at.leaveFloor)
	if err == nil {
		_, err = client.Put(ctx, key, string(text))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", key, err)
	}
	return nil
}
