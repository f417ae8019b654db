// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/fleet/render"
	"kubi.zone/kubizone/pkg/pki"
)

const (
	// certificateValidity is that of an agent's certificate, which is made anew renewBefore it ends.
	certificateValidity, renewBefore = 5 * 365 * 24 * time.Hour, 365 * 24 * time.Hour
	tokenOctets                      = 32
)

// chooseControlKeys are the keys of a server's control channel as they shall be now: those that it has, a first one, or
// those after a rotation. complete says that every pod has the current one, so that the former one may go.
func (f *Fleet) chooseControlKeys(ctx context.Context, server *render.Server, complete func(with *render.Server) bool) (keys render.ControlKeys, again time.Duration, err error) {
	wanted := server.Settings.RNDCKey
	if wanted == nil {
		wanted = &bind9.RNDCKey{}
	}
	if wanted.SecretName != "" {
		keys, err := f.keysOfUser(ctx, server.Namespace, wanted.SecretName)
		return keys, 0, err
	}
	secret, err := f.children.readSecret(ctx, server.Namespace, render.RNDCSecretName(server.Name))
	if err != nil {
		return keys, 0, err
	}
	now := f.Clock.Now()
	if secret != nil {
		keys, err = render.ReadControlKeys(secret.Annotations, secret.Data)
	}
	if secret == nil || err != nil {
		// What was there is lost, so no pod can be told of another key: a new line has them replaced.
		first, err := render.NewKey("rndc", wanted.Algorithm, f.Random)
		return render.ControlKeys{Current: first, Made: now, Line: first.Name}, 0, err
	}
	if keys.Former != nil {
		with := *server
		with.Control = keys
		if !complete(&with) {
			return keys, askAgain, nil
		}
		keys.Former = nil
	}
	due := wanted.Algorithm != "" && wanted.Algorithm != keys.Current.Algorithm
	if wanted.RotateAfter != nil && !due {
		if wait := keys.Made.Add(wanted.RotateAfter.Duration).Sub(now); wait > 0 {
			return keys, wait, nil
		}
		due = true
	}
	if !due {
		return keys, 0, nil
	}
	next, err := render.NewKey("rndc", wanted.Algorithm, f.Random)
	return keys.Rotate(next, now), askAgain, err
}

// keysOfUser reads a key that a user made. A change of it has the pods replaced.
func (f *Fleet) keysOfUser(ctx context.Context, namespace, name string) (render.ControlKeys, error) {
	secret, err := f.Cluster.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return render.ControlKeys{}, fmt.Errorf("spec.rndcKey.secretName: %w", err)
	}
	keys, err := render.ReadControlKeys(nil, secret.Data)
	if err != nil {
		return render.ControlKeys{}, fmt.Errorf("spec.rndcKey.secretName: Secret %q: %w", name, err)
	}
	keys.Former, keys.Line = nil, render.Hash(map[string]string{keys.Current.Name: string(keys.Current.Secret)})[:16]
	return keys, nil
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
	if pair, err := pki.ParsePair(access.Certificate, access.PrivateKey); err == nil && pair.Covers([]string{host}) && now.Add(renewBefore).Before(pair.Cert.NotAfter) {
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

// readTransferKey is the TSIG key of a group. make says that a missing one is made.
func (f *Fleet) readTransferKey(ctx context.Context, namespace, group string, make bool) (render.Key, error) {
	secret, err := f.children.readSecret(ctx, namespace, render.TransferSecretName(group))
	if err != nil {
		return render.Key{}, err
	}
	if secret != nil {
		if key, err := render.ReadTransferKey(secret.Data); err == nil || !make {
			return key, err
		}
	}
	if !make {
		return render.Key{}, errNoTransferKey
	}
	return render.NewKey("bind9", "", f.Random)
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
	for _, object := range f.children.of(pods, server.Namespace, render.KindInstance+"/"+server.Name) {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if got, err := f.Ask(ctx, pod, server); err != nil || got != want {
			return false
		}
	}
	return true
}
