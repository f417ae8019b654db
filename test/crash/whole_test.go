// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Change sets write the same value into the same Records, through all faults. Clients watch all Records, leave and
// resume, and list: no event is missing, and versions rise. At each serial, the zone's entries have a change set
// completely or not at all (S10.1).

const (
	inSet     = 20
	setPrefix = "set-"
)

type readWhole struct {
	l      *load
	server int
	seed   uint64

	at                              string            // resource version of the replay; "": start from a list
	is                              map[string]string // values of records, by namespace/name
	lists, streams, events, entries int
}

func (l *load) startWhole(ctx context.Context, each int) (all []*readWhole) {
	ctx, stop := context.WithCancel(ctx)
	l.all.Go(func() { l.writeSets(ctx) })
	for i := range each * len(l.listServers()) {
		r := &readWhole{l: l, server: i / each, seed: uint64(i)}
		all = append(all, r)
		l.all.Go(func() { r.readOn(ctx) })
	}
	before := l.stop
	l.stop = func() { stop(); before() }
	return all
}

func (l *load) writeSets(ctx context.Context) {
	rnd := rand.New(rand.NewPCG(*seed, 1<<32))
	for i := 1; ctx.Err() == nil; i++ {
		l.waitForBurst()
		servers := l.listServers()
		set := &v1alpha1.ChangeSet{Spec: v1alpha1.ChangeSetSpec{FieldManager: "soak"}}
		for n := range inSet {
			name := fmt.Sprint(setPrefix, n)
			set.Spec.Items = append(set.Spec.Items, v1alpha1.ChangeSetItem{Apply: &runtime.RawExtension{Raw: fmt.Appendf(nil,
				`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":%q},
				"spec":{"domainName":"%s.three.test.","type":"TXT","values":["%d"]}}`, name, name, i)}})
		}
		l.makeWrite("sets", strconv.Itoa(i), func(ctx context.Context) (*v1alpha1.Record, error) {
			_, err := servers[rnd.IntN(len(servers))].ChangeSets(owner).Create(ctx, set, metav1.CreateOptions{})
			return nil, err
		})
	}
}

func (l *load) noteWrong(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

func (r *readWhole) readOn(ctx context.Context) {
	rnd := rand.New(rand.NewPCG(*seed, r.seed))
	for ctx.Err() == nil {
		from := r.l.listServers()[r.server]
		if r.at == "" {
			if is, at, err := r.listValues(ctx, from, ""); err == nil {
				r.at, r.is = at, is
			}
		} else if r.followWatch(ctx, from, 10*time.Second, 1+rnd.IntN(60)); r.at != "" {
			r.compareList(ctx, from)
		}
		r.compareEntries(ctx, from)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rnd.IntN(300)) * time.Millisecond):
		}
	}
}

func (r *readWhole) listValues(ctx context.Context, from typed.KubizoneV1alpha1Interface, at string) (is map[string]string,
	version string, err error) {
	options := metav1.ListOptions{ResourceVersion: at}
	if at != "" {
		options.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	}
	list, err := from.Records("").List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	r.lists++
	is = map[string]string{}
	for i := range list.Items {
		o := &list.Items[i]
		is[o.Namespace+"/"+o.Name] = strings.Join(o.Spec.Values, " ")
	}
	return is, list.ResourceVersion, nil
}

func (r *readWhole) compareList(ctx context.Context, from typed.KubizoneV1alpha1Interface) {
	is, _, err := r.listValues(ctx, from, r.at)
	if err == nil && !maps.Equal(is, r.is) {
		r.l.noteWrong("server %d: what a watch has come to at %s, %d records, is not what a list has, %d", r.server, r.at, len(r.is),
			len(is))
	}
}

var setValue = regexp.MustCompile(`(?m)^` + setPrefix + `\S+\s.*\sTXT\s+"?(\d+)`)

// compareEntries requires equal values of all Records of a change set in the zone, at any serial.
func (r *readWhole) compareEntries(ctx context.Context, from typed.KubizoneV1alpha1Interface) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: owner, Name: "three"}}
	serial, _, text, err := readEntries(ctx, from, zone)
	if err != nil {
		return
	}
	values := map[string]int{}
	for _, found := range setValue.FindAllStringSubmatch(text, -1) {
		values[found[1]]++
		r.entries++
	}
	for _, n := range values {
		if n != inSet {
			r.l.noteWrong("server %d: zone three has a part of a change set at serial %s: %v", r.server, serial, values)
			return
		}
	}
}

// followWatch watches from the replay's version, for a time or a number of events. If the server has forgotten the
// version, the replay restarts from a list.
func (r *readWhole) followWatch(ctx context.Context, from typed.KubizoneV1alpha1Interface, lasting time.Duration, most int) {
	ctx, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	stream, err := from.Records("").Watch(ctx, metav1.ListOptions{ResourceVersion: r.at, AllowWatchBookmarks: true})
	if err != nil {
		r.noteError(err)
		return
	}
	defer stream.Stop()
	r.streams++
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			r.noteError(apierrors.FromObject(event.Object))
			return
		}
		o, key := event.Object.(*v1alpha1.Record), ""
		switch key = o.Namespace + "/" + o.Name; {
		case event.Type == watch.Bookmark:
			r.at = o.ResourceVersion
			continue
		case !isYounger(o.ResourceVersion, r.at):
			r.l.noteWrong("server %d: %s of %s at %s comes after %s", r.server, event.Type, key, o.ResourceVersion, r.at)
		case event.Type == watch.Deleted:
			delete(r.is, key)
		default:
			r.is[key] = strings.Join(o.Spec.Values, " ")
		}
		r.at = o.ResourceVersion
		if r.events++; most <= 1 {
			return
		}
		most--
	}
}

func (r *readWhole) noteError(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		r.at = ""
	}
}

func isYounger(version, than string) bool {
	x, err1 := strconv.ParseUint(version, 10, 64)
	y, err2 := strconv.ParseUint(than, 10, 64)
	return err1 == nil && err2 == nil && x > y
}

func (l *load) checkWhole(ctx context.Context, t *testing.T, readers []*readWhole) {
	t.Helper()
	var lists, streams, events, entries int
	for _, r := range readers {
		until(ctx, t, "a watcher has seen all that is there", func() error {
			from := l.listServers()[r.server]
			is, at, err := r.listValues(ctx, from, "")
			if err != nil {
				return err
			}
			if r.at == "" {
				r.at, r.is = at, is
			}
			if !maps.Equal(r.is, is) {
				r.followWatch(ctx, from, time.Second, math.MaxInt)
				return fmt.Errorf("it has %d records at %s, and a list %d at %s", len(r.is), r.at, len(is), at)
			}
			return nil
		})
		lists, streams, events, entries = lists+r.lists, streams+r.streams, events+r.events, entries+r.entries
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, value := range readers[0].is {
		if strings.HasPrefix(key, owner+"/"+setPrefix) && !slices.Contains(l.may["sets"], value) {
			t.Errorf("%s is %q, and may be %q", key, value, l.may["sets"])
		}
	}
	delete(l.may, "sets") // no object has this name
	t.Logf("%d lists, %d watches, %d events, %d sets in entries", lists, streams, events, entries/inSet)
}
