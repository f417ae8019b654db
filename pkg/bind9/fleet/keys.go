// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
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
	"kubi.zone/kubizone/pkg/pki"
)

const (
	// askAgain is the time between two looks at something that tells nothing by itself.
	askAgain = 5 * time.Second
	// stepTime is the least time between two steps of a rotation of TSIG keys: the hidden primary and the controller
	// read the Secret every few seconds, and named of a server that waits for its primary asks again within it.
	stepTime = time.Minute
	// heldInterval is between two looks at a rotation that a class holds: the class may have changed by then.
	heldInterval = time.Minute
	// certificateValidity is that of an agent's certificate, which is made anew renewBefore it ends.
	certificateValidity, renewBefore = 5 * 365 * 24 * time.Hour, 365 * 24 * time.Hour
	tokenOctets                      = 32
)

// sooner is the shorter of two times after which an object is looked at again, 0 for never.
func sooner(x, y time.Duration) time.Duration {
	if x == 0 || y > 0 && y < x {
		return y
	}
	return x
}

// errNoTransferKey: the cluster has made no key yet.
var errNoTransferKey = errors.New("the TSIG key of the cluster is not made yet")

// keyFacts are what the next step of the TSIG keys of a group rests on.
type keyFacts struct {
	namespace string
	now       time.Time
	// have are the keys of the group; nil: it has none, or none that can be used.
	have   *render.TransferKeys
	wanted bind9.TSIGKey
	// taken: each instance of the group, and each primary that answers it, takes both keys of a step.
	taken bool
	// heldBy is a class that has zones which the agents of instances of the group made: each of these zones names the
	// key that it is transferred with, so that key cannot go. nil: none.
	heldBy *v1alpha1.DNSClass
}

// keyStep is what becomes of the TSIG keys of a group (S11.11).
type keyStep string

const (
	keepKeys   keyStep = "keep"
	holdKeys   keyStep = "hold" // they are due to be made anew, and stay
	makeFirst  keyStep = "make the first"
	makeNext   keyStep = "make the next"
	signNext   keyStep = "sign with the next"
	dropFormer keyStep = "drop the former"
)

// nextKeyStep decides what becomes of the keys, and when to look at them again; 0: not before something changes.
func nextKeyStep(f *keyFacts) (step keyStep, requeueAfter time.Duration) {
	keys := f.have
	switch {
	case keys == nil:
		return makeFirst, 0
	case keys.Other() != nil && (f.now.Sub(keys.Stepped) < stepTime || !f.taken):
		return keepKeys, askAgain
	case keys.Next != nil:
		return signNext, askAgain
	case keys.Former != nil:
		return dropFormer, askAgain
	}
	due := f.wanted.Algorithm != "" && f.wanted.Algorithm != keys.Algorithm
	if age := f.wanted.RotateAfter; age != nil && !due {
		if wait := keys.Made.Add(age.Duration).Sub(f.now); wait > 0 {
			return keepKeys, wait
		}
		due = true
	}
	switch {
	case !due:
		return keepKeys, 0
	case f.heldBy != nil:
		return holdKeys, heldInterval
	}
	return makeNext, askAgain
}

// takeStep returns the keys after a step.
func takeStep(f *keyFacts, step keyStep, random io.Reader) (keys render.TransferKeys, err error) {
	if f.have != nil {
		keys = *f.have
	}
	var made render.Key
	if step == makeFirst || step == makeNext {
		if made, err = render.NewKey("*.bind9."+f.namespace, f.wanted.Algorithm, random); err != nil {
			return keys, err
		}
	}
	switch step {
	case makeFirst:
		keys.Key, keys.Made = made, f.now
	case makeNext:
		keys.Next, keys.Made, keys.Stepped = &made, f.now, f.now
	case signNext:
		former := keys.Key
		keys.Key, keys.Next, keys.Former, keys.Stepped = *keys.Next, nil, &former, f.now
	case dropFormer:
		keys.Former, keys.Stepped = nil, f.now
	}
	return keys, nil
}

// chosenKeys are the TSIG keys of a group as they shall be now, and why they stay where they are due.
type chosenKeys struct {
	render.TransferKeys
	heldBy       *v1alpha1.DNSClass
	requeueAfter time.Duration
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

func (t *takenKeys) byAll(group string, members []*bind9.Bind9Instance, keys string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.ContainsFunc(members, func(one *bind9.Bind9Instance) bool {
		return t.by[taker{cache.MetaObjectToName(one), group}] != keys
	})
}

// renewAccess gives the agent of a server the certificate that it lacks, or whose end is near.
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
	// The authority's key is dropped: it signs one certificate. Clients take the certificate before it too, which the
	// agent shows until it has the new one.
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
