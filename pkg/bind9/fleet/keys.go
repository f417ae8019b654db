// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"cmp"
	"encoding/pem"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/kit/pki"
)

const (
	askAgain = 5 * time.Second
	// stepTime is the minimum time between two steps of a TSIG key rotation. Within it, the hidden primary and the
	// controller poll the Secret, and BIND retries a refused transfer.
	stepTime                         = time.Minute
	heldInterval                     = time.Minute
	certificateValidity, renewBefore = 5 * 365 * 24 * time.Hour, 365 * 24 * time.Hour
	tokenOctets                      = 32
)

func sooner(x, y time.Duration) time.Duration {
	if x == 0 || y > 0 && y < x {
		return y
	}
	return x
}

var errNoTransferKey = errors.New("the TSIG key of the cluster is not made yet")

type keyFacts struct {
	namespace string
	now       time.Time
	current   *render.TransferKeys
	wanted    bind9.TSIGKey
	accepted  bool
	heldBy    *v1alpha1.DNSClass
}

type keyStep string

const (
	keepKeys   keyStep = "keep"
	holdKeys   keyStep = "hold" // a rotation is due, but a class needs the old key
	makeFirst  keyStep = "make the first"
	makeNext   keyStep = "make the next"
	signNext   keyStep = "sign with the next"
	dropFormer keyStep = "drop the former"
)

// nextKeyStep returns the next step of a TSIG key rotation, and the time until the step after; 0 means at the next
// change. A rotation in progress goes on even if no rotation is wanted any more.
func nextKeyStep(f *keyFacts) (step keyStep, requeueAfter time.Duration) {
	keys := f.current
	switch {
	case keys == nil:
		return makeFirst, 0
	// A server that does not accept both keys yet would refuse a transfer.
	case keys.SecondKey() != nil && (f.now.Sub(keys.SteppedAt) < stepTime || !f.accepted):
		return keepKeys, askAgain
	case keys.Next != nil:
		return signNext, askAgain
	case keys.Former != nil:
		return dropFormer, askAgain
	}

	// Outside a rotation: is a new key due, by algorithm or age?
	if cmp.Or(f.wanted.Algorithm, keys.Algorithm) == keys.Algorithm {
		age := f.wanted.RotateAfter
		if age == nil {
			return keepKeys, 0
		}
		if wait := keys.CreatedAt.Add(age.Duration).Sub(f.now); wait > 0 {
			return keepKeys, wait
		}
	}

	// Zones that an agent made name the key in named's own store, which the fleet cannot rewrite.
	if f.heldBy != nil {
		return holdKeys, heldInterval
	}
	return makeNext, askAgain
}

// applyStep returns the keys after a step. A step with a new key reads random.
func applyStep(f *keyFacts, step keyStep, random io.Reader) (keys render.TransferKeys, err error) {
	if f.current != nil {
		keys = *f.current
	}
	var made render.Key
	if step == makeFirst || step == makeNext {
		if made, err = render.NewKey("*.bind9."+f.namespace, f.wanted.Algorithm, random); err != nil {
			return keys, err
		}
	}
	switch step {
	case makeFirst:
		keys.Key, keys.CreatedAt = made, f.now
	case makeNext:
		keys.Next, keys.CreatedAt, keys.SteppedAt = &made, f.now, f.now
	case signNext:
		former := keys.Key
		keys.Key, keys.Next, keys.Former, keys.SteppedAt = *keys.Next, nil, &former, f.now
	case dropFormer:
		keys.Former, keys.SteppedAt = nil, f.now
	}
	return keys, nil
}

type chosenKeys struct {
	render.TransferKeys
	heldBy       *v1alpha1.DNSClass
	requeueAfter time.Duration
}

// rotation returns the times of the newest key and of the next rotation for the status; nil without a key.
func rotation(keys *render.TransferKeys, wanted *bind9.TSIGKey) *bind9.KeyRotation {
	if keys.CreatedAt.IsZero() {
		return nil
	}
	of := &bind9.KeyRotation{CreatedAt: &metav1.Time{Time: keys.CreatedAt.Truncate(time.Second)}}
	if wanted != nil && wanted.RotateAfter != nil {
		of.RotateAt = &metav1.Time{Time: keys.CreatedAt.Add(wanted.RotateAfter.Duration).Truncate(time.Second)}
	}
	return of
}

// acceptedKeys records the Bind9Instances that accept both TSIG keys of a rotation. A rotation proceeds when all
// servers that share the keys (a group) accept both.
type acceptedKeys struct {
	mu sync.Mutex
	// byAcceptor has the names of the accepted keys, by server and group. A signing server has two entries, for its own
	// keys and for the cluster's.
	byAcceptor map[acceptor]string
}

type acceptor struct {
	instance cache.ObjectName
	group    string
}

func (t *acceptedKeys) record(at acceptor, keys string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.byAcceptor[at]
	if keys == "" {
		delete(t.byAcceptor, at)
	} else {
		t.byAcceptor[at] = keys
	}
	return before != keys
}

func (t *acceptedKeys) acceptedByAll(group string, members []*bind9.Bind9Instance, keys string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.ContainsFunc(members, func(one *bind9.Bind9Instance) bool {
		return t.byAcceptor[acceptor{cache.MetaObjectToName(one), group}] != keys
	})
}

// renewAccess returns access with a certificate valid for renewBefore or longer. The token stays.
func renewAccess(access render.Access, server *render.Server, now time.Time) (render.Access, error) {
	hosts := []string{render.AgentHost(server.Namespace, server.Name)}
	if pair, err := pki.ParsePair(access.Certificate, access.PrivateKey); err == nil && pair.Covers(hosts) &&
		now.Add(renewBefore).Before(pair.Cert.NotAfter) {
		return access, nil
	}

	authority, err := pki.Issue(nil, pki.Authority("agent of "+server.Name), now, certificateValidity)
	if err != nil {
		return access, err
	}
	// Each certificate has its own CA, because the CA's key is dropped after one signature. The former CA stays in
	// Authority until the new certificate arrives.
	serving, err := pki.Issue(authority, pki.Serving("bind9", hosts), now, certificateValidity)
	if err != nil {
		return access, err
	}

	former, _ := pem.Decode(access.Authority)
	access.Certificate, access.PrivateKey, access.Authority = serving.CertPEM, serving.KeyPEM, bytes.Clone(authority.CertPEM)
	if former != nil {
		access.Authority = append(access.Authority, pem.EncodeToMemory(former)...)
	}
	return access, nil
}
