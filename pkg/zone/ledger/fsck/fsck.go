// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/kit/terminal"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
)

// Config configures a check of the store. The fields up to Delegations are as in ledger.Config.
type Config struct {
	Client         *clientv3.Client
	Prefix         string // of all keys, for example "/registry/kubizone"
	Zones, Records objects.ObjectCodec
	Delegations    objects.ObjectCodec // that of Records by default
	// Further returns the codec of a resource of layout.FleetResources, such as Bind9Clusters. If Further is nil, the
	// check skips them.
	Further  func(resource string) objects.ObjectCodec
	Revision int64 // of etcd, 0 for the present
}

// Rule names a broken invariant (I1 to I5 of package ledger), or a rule of docs/semantics.md such as S6.7.
type Rule string

// Finding is a difference between the store and its recomputation.
type Finding struct {
	Key  string
	Rule Rule
	// Have is the stored value, Want the value demanded by the objects. Each may be a description.
	Have, Want string
}

const MaxFindings = 1000

type Findings struct {
	List  []Finding // by key
	Total int
}

type Report struct {
	Revision                    int64
	Zones, Records, Keys, Steps int
	Damage                      Findings // not explained by pending work; an operator must repair them
	Pending                     Findings // work for a running server: outbox items, pending cuts, objects waiting for them
	// Notes holds names claimed by two tenants against the present rules. Former rules or records may have allowed both
	// claims, so such a name is not damage.
	Notes Findings
}

func (r *Report) Clean() bool { return r.Damage.Total == 0 }

// WriteText writes the report for an operator: the listed findings, the number beyond MaxFindings, and the next step.
// After an error of w, the other lines are still tried.
func (r *Report) WriteText(w io.Writer) error {
	var errs []error
	line := func(format string, args ...any) {
		_, err := terminal.Fprintf(w, format+"\n", args...)
		errs = append(errs, err)
	}

	line("checked %d zones, %d records, %d internal keys and %d journal steps at revision %d", r.Zones, r.Records, r.Keys, r.Steps,
		r.Revision)
	for _, kind := range []struct {
		name string
		of   Findings
	}{{"damage", r.Damage}, {"pending", r.Pending}, {"note", r.Notes}} {
		for _, f := range kind.of.List {
			line("%s: %s (%s)\n    have %s\n    want %s", kind.name, f.Key, f.Rule, f.Have, f.Want)
		}
		if more := kind.of.Total - len(kind.of.List); more > 0 {
			line("%s: %d more", kind.name, more)
		}
	}

	// A note alone leaves the store clean, because former rules may have allowed both claims.
	switch {
	case !r.Clean():
		line("DAMAGED: %d differences that no work in progress explains", r.Damage.Total)
		line("next: keep a copy of the store, change nothing by hand, and restore a backup (docs/operations.md, Damage); work that " +
			"needs an unreadable key waits until then, and all other work continues")
	case r.Pending.Total > 0:
		line("clean; pending work: %d, which a running server completes", r.Pending.Total)
	default:
		line("clean; no work is pending")
	}

	return errors.Join(errs...)
}

type check struct {
	ctx    context.Context
	config Config
	layout layout.Keys
	report Report
	model
	condensed map[string]*condensed // by uid
}

// Run checks the whole store at config.Revision, without a write, and reports the differences. After an error, for
// example if etcd has compacted the revision, the Report is incomplete.
func Run(ctx context.Context, config Config) (Report, error) {
	hasStore := config.Client != nil && config.Prefix != ""
	hasCodecs := config.Zones.Codec != nil && config.Records.Codec != nil
	if !hasStore || !hasCodecs {
		return Report{}, errors.New("the Client, the Prefix and the codecs of Zones and Records are required")
	}
	if config.Delegations.Codec == nil {
		config.Delegations = config.Records
	}

	client, err := ledger.ReadStore(ctx, config.Client, config.Prefix, config.Records.Transformer)
	if err != nil {
		return Report{}, fmt.Errorf("checking the store: %w", err)
	}
	config.Client = client

	c := &check{ctx: ctx, config: config, layout: layout.Keys{Prefix: config.Prefix}, report: Report{Revision: config.Revision},
		model: newModel()}

	// The readers first fill the model, since checks compare objects of several zones. checkOrphans sets
	// record.keptOut, which checkWaiting passes to the law.
	steps := []func() error{
		c.checkFormat, c.readZones, c.readNames, c.readOutbox, c.readDelegations, c.readPendingCuts, c.readWithdrawals, c.readCuts,
		c.readRecords, c.checkMembers, c.checkOwners, c.checkCounts, c.checkDelegatedRules, c.checkOrphans, c.checkDue, c.checkSerials,
		c.checkZones, c.checkCuts, c.checkReverseLinks, c.checkAddressed, c.checkNames, c.checkWaiting, c.checkJournals, c.checkHistory,
		c.readServers,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return c.report, fmt.Errorf("checking the store: %w", err)
		}
	}

	// Say what an unreadable Zone keeps from the check.
	for i, f := range c.report.Damage.List {
		if n := c.unread.uncheckedCount[f.Key]; n > 0 {
			c.report.Damage.List[i].Have += fmt.Sprintf("; %d keys and records belong to it and were not checked", n)
		}
	}

	for _, f := range []*Findings{&c.report.Damage, &c.report.Pending, &c.report.Notes} {
		slices.SortStableFunc(f.List, func(x, y Finding) int { return cmp.Compare(x.Key, y.Key) })
	}
	return c.report, nil
}

func (c *check) reportDamage(key string, rule Rule, have, want string, args ...any) {
	c.report.Damage.add(Finding{Key: key, Rule: rule, Have: have, Want: fmt.Sprintf(want, args...)})
}

func (c *check) require(ok bool, key string, rule Rule, have, want string, args ...any) {
	if !ok {
		c.reportDamage(key, rule, have, want, args...)
	}
}

func (c *check) reportDifference(excused bool, key string, rule Rule, have, want string, args ...any) {
	if excused {
		c.reportPending(key, rule, have, want, args...)
	} else {
		c.reportDamage(key, rule, have, want, args...)
	}
}

func (c *check) reportPending(key string, rule Rule, have, want string, args ...any) {
	c.report.Pending.add(Finding{Key: key, Rule: rule, Have: have, Want: fmt.Sprintf(want, args...)})
}

func (f *Findings) add(x Finding) {
	if f.Total++; len(f.List) < MaxFindings {
		f.List = append(f.List, x)
	}
}

const page = 1000

// eachObject passes each readable object of a resource to f. An unreadable object is damage, and damaged, unless nil,
// receives the object's key and "namespace/name".
func eachObject[T metav1.Object](c *check, resource string, rule Rule, codec objects.ObjectCodec, damaged func(key, name string),
	f func(key string, object T)) error {
	prefix := c.layout.Objects(resource)
	return c.eachBetween(prefix, clientv3.GetPrefixRangeEnd(prefix), func(key string, kv *mvccpb.KeyValue) {
		object, err := codec.DecodeNew(c.ctx, key, kv.Value)
		o, ok := object.(T)
		// An object of another kind under this prefix is as useless to a server as a broken protobuf.
		if !ok {
			c.reportDamage(key, rule, fmt.Sprintf("%T, %v", object, err), "an object of %s", resource)
			if damaged != nil {
				damaged(key, key[len(prefix):])
			}
			return
		}
		// An object without namespace, such as a ClusterBind9Provider, has no slash in its name.
		name := strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
		c.require(key == prefix+name, key, rule, name, "the object that the key names")
		f(key, o)
	})
}

func eachKey[T any](c *check, room string, f func(key, rest string, value *T)) error {
	prefix := c.layout.Room(room)
	return c.eachBetween(prefix, clientv3.GetPrefixRangeEnd(prefix), func(key string, kv *mvccpb.KeyValue) {
		c.report.Keys++
		if value := new(T); c.parseValue(key, kv, value) {
			f(key, key[len(prefix):], value)
		}
	})
}

func eachZoneKey[T any](c *check, room string, f func(z *zone, key, rest string, value *T)) error {
	return eachKey(c, room, func(key, rest string, value *T) {
		uid, rest, _ := strings.Cut(rest, "/")
		if z := c.existingZone(key, uid); z != nil {
			f(z, key, rest, value)
		}
	})
}

// checkRoom compares a room (a kind of internal keys) with the expected values, and reports differences. The function
// compute passes each expected key of a zone to add. If values differ, compare returns the broken rule and false.
func checkRoom[T any](c *check, room string, rule Rule, compute func(z *zone, add func(key string, value *T)),
	compare func(have, want *T) (Rule, bool)) error {
	// Compute the room from the objects, for all zones in effect.
	expected := map[string]*T{}
	for _, z := range c.zonesByName {
		compute(z, func(key string, value *T) { expected[key] = value })
	}

	// Compare each stored key, and take it from the expected keys.
	prefix := c.layout.Room(room)
	err := c.eachBetween(prefix, clientv3.GetPrefixRangeEnd(prefix), func(key string, kv *mvccpb.KeyValue) {
		c.report.Keys++
		uid, _, _ := strings.Cut(key[len(prefix):], "/")
		want, have := expected[key], new(T)
		delete(expected, key)
		// Keys of ended zones, and of zones with unreadable objects, have no expected value.
		if c.existingZone(key, uid) == nil || !c.parseValue(key, kv, have) {
			return
		}

		if want == nil {
			c.reportDamage(key, rule, encodeText(have), "nothing")
			return
		}
		broken, isEqual := compare(have, want)
		if !isEqual {
			c.reportDamage(key, broken, encodeText(have), "%s", encodeText(want))
		}
	})

	for key, want := range expected { // the store lacks the keys left
		c.reportDamage(key, rule, "nothing", "%s", encodeText(want))
	}
	return err
}

func (c *check) parseValue(key string, kv *mvccpb.KeyValue, into any) bool {
	err := json.Unmarshal(kv.Value, into)
	if err != nil {
		c.reportDamage(key, "I2", fmt.Sprintf("%.200q", kv.Value), "a %T: %v", into, err)
	}
	return err == nil
}

func encodeText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}

func (c *check) eachBetween(from, to string, f func(key string, kv *mvccpb.KeyValue), opts ...clientv3.OpOption) error {
	for {
		r, err := c.get(from, append(opts, clientv3.WithRange(to), clientv3.WithLimit(page))...)
		if err != nil {
			return err
		}
		for _, kv := range r.Kvs {
			f(string(kv.Key), kv)
		}
		if !r.More {
			return nil
		}
		// With the byte 0 the next page begins directly after the last key read.
		from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}

// eachBackwards passes the keys under a prefix to f, the last first. For a page in descending order etcd would load the
// whole range, so a pass over the keys alone first finds the beginnings of the pages.
func (c *check) eachBackwards(prefix string, f func(key string, kv *mvccpb.KeyValue)) error {
	var begins []string
	n, end := 0, clientv3.GetPrefixRangeEnd(prefix)
	err := c.eachBetween(prefix, end, func(key string, _ *mvccpb.KeyValue) {
		if n%page == 0 {
			begins = append(begins, key)
		}
		n++
	}, clientv3.WithKeysOnly())
	if err != nil {
		return err
	}

	for _, begin := range slices.Backward(begins) {
		r, err := c.get(begin, clientv3.WithRange(end))
		if err != nil {
			return err
		}
		for _, kv := range slices.Backward(r.Kvs) {
			f(string(kv.Key), kv)
		}
		end = begin
	}
	return nil
}

// get reads keys at the revision of the check. If the caller wants the present, the first read fixes the revision, so
// all later reads show the same moment, whatever servers write meanwhile.
func (c *check) get(key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	r, err := c.config.Client.Get(c.ctx, key, append(opts, clientv3.WithRev(subrev.Version(c.report.Revision, subrev.Last)))...)
	if err != nil {
		return nil, fmt.Errorf("reading %s at revision %d: %w", key, c.report.Revision, err)
	}
	if c.report.Revision == 0 {
		c.report.Revision, _ = subrev.Split(r.Header.Revision)
	}
	return r, nil
}
