// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/pki"
)

const (
	// certificateValidity is that of an agent's certificate, which is made anew renewBefore it ends.
	certificateValidity, renewBefore = 5 * 365 * 24 * time.Hour, 365 * 24 * time.Hour
	tokenOctets                      = 32
)

// ensureControlKey is the key of a server's control channel, a new one where there is none: its pod is replaced then.
func (f *Fleet) ensureControlKey(ctx context.Context, server *render.Server) (render.Key, error) {
	secret, err := f.children.readSecret(ctx, server.Namespace, render.RNDCSecretName(server.Name))
	if err != nil {
		return render.Key{}, err
	}
	if secret != nil {
		if key, err := render.ReadControlKey(secret.Data); err == nil {
			return key, nil
		}
	}
	return render.NewKey("rndc", "", f.Random)
}

// ensureAccess is the token and the certificate of a server's agent.
func (f *Fleet) ensureAccess(ctx context.Context, server *render.Server) (render.Access, error) {
	secret, err := f.children.readSecret(ctx, server.Namespace, render.AgentSecretName(server.Name))
	if err != nil {
		return render.Access{}, err
	}
	var access render.Access
	if secret != nil {
		access, err = render.ReadAccess(secret.Data)
	}
	if secret == nil || err != nil {
		token := make([]byte, tokenOctets)
		if _, err := io.ReadFull(f.Random, token); err != nil {
			return render.Access{}, err
		}
		access = render.Access{Token: base64.RawURLEncoding.EncodeToString(token)}
	}
	host, now := render.AgentHost(server.Namespace, server.Name), f.Clock.Now()
	if pair, err := pki.ParsePair(access.Certificate, access.PrivateKey); err == nil && pair.Covers([]string{host}) &&
		now.Add(renewBefore).Before(pair.Cert.NotAfter) {
		return access, nil
	}
	authority, err := pki.Issue(nil, pki.Authority("agent of "+server.Name), now, certificateValidity)
	if err != nil {
		return render.Access{}, err
	}
	// The authority's key is dropped: it signs one certificate. Clients take the certificate before it too, which the
	// agent shows until it has the new one.
	serving, err := pki.Issue(authority, pki.Serving("bind9", []string{host}), now, certificateValidity)
	if err != nil {
		return render.Access{}, err
	}
	former, _ := pem.Decode(access.Authority)
	access.Certificate, access.PrivateKey, access.Authority = serving.CertPEM, serving.KeyPEM, bytes.Clone(authority.CertPEM)
	if former != nil {
		access.Authority = append(access.Authority, pem.EncodeToMemory(former)...)
	}
	return access, nil
}

// stepTime is the least time between two steps of a rotation of TSIG keys: the hidden primary and the controller read
// the Secret every few seconds, and named of a server that waits for its primary asks again within it.
const stepTime = time.Minute

// readTransferKeys are the TSIG keys of a cluster, as they were made for it.
func (f *Fleet) readTransferKeys(ctx context.Context, namespace, group string) (keys render.TransferKeys, err error) {
	secret, err := f.children.readSecret(ctx, namespace, render.TransferSecretName(group))
	if err == nil && secret == nil {
		err = errNoTransferKey
	}
	if err != nil {
		return keys, err
	}
	return render.ReadTransferKeys(secret.Annotations, secret.Data)
}

// chooseTransferKeys are the TSIG keys of a group as they shall be now: those that it has, a first one, or those after
// the next step of a rotation. members are the instances of the group, each of which has to take the keys of a step
// before the next one. A key that is lost is made anew; one that is due stays while a class holds it (findKeyNaming).
func (f *Fleet) chooseTransferKeys(ctx context.Context, namespace, group string, wanted *bind9.TSIGKey, members []cache.ObjectName) (
	keys render.TransferKeys, heldBy *v1alpha1.DNSClass, again time.Duration, err error) {
	if wanted == nil {
		wanted = &bind9.TSIGKey{}
	}
	keys, err = f.readTransferKeys(ctx, namespace, group)
	now := f.Clock.Now()
	if errors.Is(err, errNoTransferKey) || errors.Is(err, render.ErrKey) {
		first, err := render.NewKey("bind9", wanted.Algorithm, f.Random)
		return render.TransferKeys{Key: first, Made: now}, nil, 0, err
	}
	if err != nil {
		return keys, nil, 0, err
	}
	if keys.Other() != nil {
		if now.Sub(keys.Stepped) < stepTime || !f.taken.byAll(group, members, keys.Both()) {
			return keys, nil, askAgain, nil
		}
		keys.Stepped = now
		if next := keys.Next; next != nil {
			former := keys.Key
			keys.Key, keys.Next, keys.Former = *next, nil, &former
			return keys, nil, askAgain, nil
		}
		keys.Former = nil
	}
	due := wanted.Algorithm != "" && wanted.Algorithm != keys.Algorithm
	if wanted.RotateAfter != nil && !due {
		if wait := keys.Made.Add(wanted.RotateAfter.Duration).Sub(now); wait > 0 {
			return keys, nil, wait, nil
		}
		due = true
	}
	if !due {
		return keys, nil, 0, nil
	}
	if heldBy, err = f.findKeyNaming(members); heldBy != nil || err != nil {
		return keys, heldBy, time.Minute, err // the class may have changed by then
	}
	next, err := render.NewKey("bind9", wanted.Algorithm, f.Random)
	keys.Next, keys.Made, keys.Stepped = &next, now, now
	return keys, nil, askAgain, err
}

// findKeyNaming returns a class that has zones made by the agents of the servers: each of these zones names the key
// that it is transferred with, so that key cannot go. nil is none.
func (f *Fleet) findKeyNaming(members []cache.ObjectName) (*v1alpha1.DNSClass, error) {
	classes, err := f.classes.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(classes, func(a, b *v1alpha1.DNSClass) int { return strings.Compare(a.Name, b.Name) }) // each look names the same one
	for _, class := range classes {
		if class.Spec.Bind9 == nil || apiclass.ModeOf(class.Spec.Bind9) == v1alpha1.Bind9ModeCatalog {
			continue
		}
		for _, member := range members {
			if has, err := f.classHas(class, member); has || err != nil {
				return class, err
			}
		}
	}
	return nil, nil
}

// rotation is what a status says of TSIG keys.
func rotation(keys *render.TransferKeys, wanted *bind9.TSIGKey) *bind9.KeyRotation {
	if keys.Made.IsZero() {
		return nil
	}
	of := &bind9.KeyRotation{CreatedAt: &metav1.Time{Time: keys.Made.Truncate(time.Second)}}
	if wanted != nil && wanted.RotateAfter != nil {
		of.RotateAt = &metav1.Time{Time: keys.Made.Add(wanted.RotateAfter.Duration).Truncate(time.Second)}
	}
	return of
}

// takenKeys says of each instance which TSIG keys of a group its pods were last seen to take: a signer takes those of
// its cluster beside its own. It is kept in memory: a process that is started anew looks again.
type takenKeys struct {
	mu sync.Mutex
	by map[taker]string
}

// taker is an instance that takes the TSIG keys of a group.
type taker struct {
	instance cache.ObjectName
	group    string
}

// note returns whether that is another one than before.
func (t *takenKeys) note(at taker, keys string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.by[at]
	if keys == "" {
		delete(t.by, at)
	} else {
		t.by[at] = keys
	}
	return before != keys
}

func (t *takenKeys) byAll(group string, instances []cache.ObjectName, keys string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.ContainsFunc(instances, func(one cache.ObjectName) bool { return t.by[taker{one, group}] != keys })
}

// noteTransferKeys looks whether the pods of a server take the TSIG keys of a step, and whether its primaries do. A
// signer takes those of its cluster too: a follower that signs with a key before the signer has it gets no signed zone.
func (f *Fleet) noteTransferKeys(ctx context.Context, server *render.Server) {
	changed := f.noteTaken(ctx, server, server.Group(), &server.Transfer)
	if server.Peers != nil {
		changed = f.noteTaken(ctx, server, server.Cluster, server.Peers) || changed
	}
	if changed && server.Cluster != "" {
		f.look("cluster", server.Namespace, server.Cluster)
	}
}

// noteTaken looks at the keys of one group, and returns whether that is another answer than before.
func (f *Fleet) noteTaken(ctx context.Context, server *render.Server, group string, keys *render.TransferKeys) bool {
	at, taken := taker{cache.ObjectName{Namespace: server.Namespace, Name: server.Name}, group}, ""
	if keys.Other() != nil && f.haveKeys(ctx, server) && f.primariesTake(ctx, server) {
		taken = keys.Both()
	}
	return f.taken.note(at, taken)
}

// primariesTake reports whether each primary that answers for a catalog to the key that signs does so to the next one
// too. One that is away reads both when it comes.
func (f *Fleet) primariesTake(ctx context.Context, server *render.Server) bool {
	next := server.Transfer.Next
	if next == nil || f.Answers == nil {
		return true
	}
	for _, catalog := range server.Catalogs {
		for _, at := range catalog.Primaries {
			if f.Answers(ctx, at, catalog.Zone, server.Transfer.Key) && !f.Answers(ctx, at, catalog.Zone, *next) {
				return false
			}
		}
	}
	return true
}

// errNoTransferKey: the cluster has made no key yet.
var errNoTransferKey = errors.New("the TSIG key of the cluster is not made yet")

// haveConfig reports whether every pod of a server has the configuration, and none runs with another.
func (f *Fleet) haveConfig(ctx context.Context, server *render.Server) bool {
	mounted, err := server.Mounted()
	if err != nil {
		return false
	}
	want := render.Hash(mounted)
	var running []*corev1.Pod
	for _, object := range f.children.of(pods, server.Namespace, render.KindInstance+"/"+server.Name) {
		if pod, ok := object.(*corev1.Pod); ok && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			running = append(running, pod)
		}
	}
	return f.askPods(ctx, server, "configuration "+want, running, func(ctx context.Context, pod *corev1.Pod) error {
		got, err := f.Ask(ctx, pod, server)
		if err == nil && got != want {
			err = errOtherConfig
		}
		return err
	}) == nil
}

// errOtherConfig: a pod runs with another configuration than its server has now.
var errOtherConfig = errors.New("BIND has not read its configuration yet")
