// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/etcd/maintenance"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/subrev"
)

// MaxSerialJump keeps a jump far from half of all serials, at which RFC 1982 no longer says what comes later: from
// today's date too.
const MaxSerialJump = 1 << 24

// raisers write zones at once; each waits for its own disk write, which etcd makes one of many.
const raisers = 32

// RaiseSerials moves every serial of a store ahead by at least jump, 1 to MaxSerialJump, counted from the next one that
// the zone would have today: whatever was handed out since a backup was taken is then behind. It raises
// spec.minimumSerial (S6.6), so hash and journal are what a server would have written, and likewise what is remembered
// for names whose zone is gone, and leaves a floor for names that the store does not know (S6.5). No server may run
// on the store. It returns how many zones there are.
func RaiseSerials(ctx context.Context, source Source, jump uint32) (zones int, err error) {
	if jump < 1 || jump > MaxSerialJump {
		return 0, fmt.Errorf("a jump of %d: must be from 1 to %d", jump, MaxSerialJump)
	}
	client, of, err := source.open(ctx)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	zoneCodec := of("zones")
	opened, err := ledger.Open(ctx, ledger.Config{Client: client.Client, Prefix: Prefix, Zones: zoneCodec, Records: of("records"), Delegations: of("delegations")})
	if err != nil {
		return 0, err
	}
	transformer := zoneCodec.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	versioner := storage.APIObjectVersioner{}
	compactor := etcd3.NewCompactor(client.Client, 0, nil, nil)
	defer compactor.Stop()
	raw, err := etcd3.New(ledger.StorageClient(client, ledger.Versions(Prefix)), subrev.Compactor(compactor), zoneCodec.Codec,
		func() runtime.Object { return &v1alpha1.Zone{} }, func() runtime.Object { return &v1alpha1.ZoneList{} },
		Prefix, "/"+v1alpha1.GroupName+"/zones", v1alpha1.Resource("zones"), transformer,
		etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(zoneCodec.Codec, versioner), versioner)
	if err != nil {
		return 0, fmt.Errorf("storage of zones: %w", err)
	}
	defer raw.Close()

	at := opened.Layout()
	if err := raiseRemembered(ctx, opened.Client(), at.Room("serials"), jump); err != nil {
		return 0, err
	}
	if err := raiseFloor(ctx, opened.Client(), at.Key(law.Key{Kind: law.KindFloor}), jump); err != nil {
		return 0, err
	}
	if _, err := client.Client.Delete(ctx, maintenance.Began(Prefix)); err != nil { // its log begins anew, and rightly
		return 0, err
	}
	store := opened.Zones(raw)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(raisers)
	err = keys(ctx, client.Client, at.Objects("zones"), func(key string, _ []byte) error {
		zones++
		group.Go(func() error { return raise(ctx, store, key[len(Prefix):], jump) })
		return nil
	}, clientv3.WithKeysOnly())
	if wrong := group.Wait(); wrong != nil {
		err = wrong
	}
	return zones, err
}

// raise writes one zone. Where the target is too far from the present serial for one step, the first goes to today's.
func raise(ctx context.Context, zones storage.Interface, key string, jump uint32) error {
	var target *serial.Serial
	for {
		var last serial.Serial
		after := &v1alpha1.Zone{}
		through := false
		err := zones.GuaranteedUpdate(ctx, key, after, false, nil, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
			zone := in.(*v1alpha1.Zone)
			last = serial.Serial(zone.Status.Serial)
			if through = last == 0; through {
				return zone, nil, nil // it waits for a zone to refer to, and no serial of it was handed out
			}
			today, _ := law.NextSerial(last, time.Now(), nil, nil)
			if target == nil {
				target = ptr.To(ahead(today, jump))
			}
			if through = last == *target; through {
				return zone, nil, nil
			}
			next := *target
			if !next.Ahead(last) {
				next = today
			}
			zone.Spec.MinimumSerial = ptr.To(int64(next))
			zone.Generation++
			return zone, nil, nil
		}, nil)
		if err != nil {
			return fmt.Errorf("raising the serial of %s: %w", key, err)
		}
		now := serial.Serial(after.Status.Serial)
		if through || now == *target {
			return nil
		}
		if now == last {
			return fmt.Errorf("raising the serial of %s: it stays at %d with minimumSerial %d", key, last, *after.Spec.MinimumSerial)
		}
	}
}

// ahead is s plus by; 0 is no serial.
func ahead(s serial.Serial, by uint32) serial.Serial {
	if s += serial.Serial(by); s == 0 {
		return 1
	}
	return s
}

// raiseRemembered moves what is kept for names without a zone.
func raiseRemembered(ctx context.Context, client *clientv3.Client, room string, jump uint32) error {
	return keys(ctx, client, room, func(key string, value []byte) error {
		text, err := layout.Rewrite(value, func(last *law.LastSerial) {
			today, _ := law.NextSerial(last.Serial, time.Now(), nil, nil)
			last.Serial = ahead(today, jump)
		})
		if err != nil {
			return fmt.Errorf("%s does not parse: %w; run kubizone fsck", key, err)
		}
		if _, err := client.Put(ctx, key, string(text)); err != nil {
			return fmt.Errorf("raising the serial of %s: %w", key, err)
		}
		return nil
	})
}

// raiseFloor leaves where names begin that the backup does not know. The floor of an earlier restore is among what
// raiseRemembered has moved, and both jumps are what a zone may have had since.
func raiseFloor(ctx context.Context, client *clientv3.Client, key string, jump uint32) error {
	today, _ := law.NextSerial(0, time.Now(), nil, nil)
	floor := ahead(today, jump)
	answer, err := client.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	value := []byte("{}")
	if len(answer.Kvs) > 0 {
		value = answer.Kvs[0].Value
	}
	text, err := layout.Rewrite(value, func(last *law.LastSerial) {
		if last.Serial == 0 || floor.Ahead(last.Serial) {
			last.Serial = floor
		}
		last.Jump, last.Left = last.Jump+jump, serial.KeptSeconds
	})
	if err == nil {
		_, err = client.Put(ctx, key, string(text))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", key, err)
	}
	return nil
}

// keys calls each for what is under a prefix, as it is at one revision.
func keys(ctx context.Context, client *clientv3.Client, prefix string, each func(key string, value []byte) error, options ...clientv3.OpOption) error {
	from, revision := prefix, int64(0)
	for {
		page, err := client.Get(ctx, from, append([]clientv3.OpOption{
			clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(1000), clientv3.WithRev(revision),
		}, options...)...)
		if err != nil {
			return fmt.Errorf("reading %s: %w", prefix, err)
		}
		for _, kv := range page.Kvs {
			if err := each(string(kv.Key), kv.Value); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
		revision, from = page.Header.Revision, string(page.Kvs[len(page.Kvs)-1].Key)+"\x00"
	}
}
