// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/delivery/secrets"
)

type providers struct {
	constructors map[string]NewProvider
	secrets      secrets.Reader
}

// makeProvider makes the provider of a class, and sets Kind, Provider and Target of spec. used has the digest of each
// Secret that the provider read, even if making it failed, so that a new Secret is noticed.
func (p *providers) makeProvider(ctx context.Context, of *v1alpha1.DNSClass, spec *delivery.Class) (used map[string]string, err error) {
	kind := class.ProviderOf(&of.Spec)
	newProvider, ok := p.constructors[kind]
	if !ok {
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "this controller has no provider for any block of the spec; "+
			"it has %s", strings.Join(slices.Sorted(maps.Keys(p.constructors)), ", "))
	}
	spec.Kind, used = kind, map[string]string{}
	spec.Provider, spec.Target, err = newProvider(of.DeepCopy(), func(namespace, name string) (map[string][]byte, error) {
		data, digest, err := p.readSecret(ctx, namespace, name)
		used[namespace+"/"+name] = digest
		if err != nil {
			cause := errors.Unwrap(err)
			if cause == nil {
				cause = err
			}
			klog.FromContext(ctx).Error(cause, "a Secret that a class names cannot be read", "class", of.Name, "namespace", namespace,
				"name", name)
		}
		return data, err
	})
	if _, _, ok := class.SplitCluster(of.Name); ok && spec.Target != "" {
		spec.Target += " of " + string(of.UID) // another cluster of the name has other servers
	}
	spec.Target = objects.Fingerprint(spec.Target)
	return used, err
}

// The digest must not leave the process, because it would confirm guesses of the data.
func (p *providers) readSecret(ctx context.Context, namespace, name string) (map[string][]byte, string, error) {
	data, err := p.secrets.Get(ctx, namespace, name)
	if errors.Is(err, secrets.ErrNotFound) {
		return nil, "none", &delivery.Error{Reason: delivery.ReasonSecretNotFound,
			Message: secrets.DescribeMissing(err, namespace, name) + ", or name another one in the DNSClass"}
	}
	if err != nil {
		return nil, "error", unreadableSecret(namespace, name, err)
	}
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(sum, "%d %s %d ", len(key), key, len(data[key]))
		sum.Write(data[key])
	}
	return data, string(sum.Sum(nil)), nil
}

func unreadableSecret(namespace, name string, err error) *delivery.Error {
	next := "it is tried again, and the controller's log has the error"
	if apierrors.IsForbidden(err) {
		next = fmt.Sprintf("give the controller a Role to get and watch it, as the value classes of the chart does: "+
			"--set 'classes.CLASS.secrets.%s={%s}'", namespace, name)
	}
	return &delivery.Error{Reason: delivery.ReasonSecretNotFound, Err: err,
		Message: fmt.Sprintf("the Secret %s/%s cannot be read: %s", namespace, name, next)}
}

// digestSecrets reads the Secrets of a class again, and returns their digests by namespace/name. A Secret that cannot
// be read keeps its digest.
func (p *providers) digestSecrets(ctx context.Context, of map[string]string) map[string]string {
	now := make(map[string]string, len(of))
	for at := range of {
		namespace, name, _ := strings.Cut(at, "/")
		_, digest, err := p.readSecret(ctx, namespace, name)
		if digest == "error" {
			klog.FromContext(ctx).V(2).Info("a Secret cannot be read; its last data stay in use", "namespace", namespace, "name", name,
				"err", errors.Unwrap(err))
			digest = of[at] // a silent API server must not stop the class
		}
		now[at] = digest
	}
	return now
}
