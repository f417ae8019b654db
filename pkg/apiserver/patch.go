// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// kindsOf are the Go types of what the resources of our groups hold.
var kindsOf = map[schema.GroupResource]reflect.Type{
	v1alpha1.Resource("records"):            reflect.TypeFor[v1alpha1.Record](),
	v1alpha1.Resource("zones"):              reflect.TypeFor[v1alpha1.Zone](),
	v1alpha1.Resource("delegations"):        reflect.TypeFor[v1alpha1.Delegation](),
	v1alpha1.Resource("updatekeys"):         reflect.TypeFor[v1alpha1.UpdateKey](),
	v1alpha1.Resource("dnsclasses"):         reflect.TypeFor[v1alpha1.DNSClass](),
	v1alpha1.Resource("deliveries"):         reflect.TypeFor[v1alpha1.Delivery](),
	bind9.Resource("clusterbind9providers"): reflect.TypeFor[bind9.ClusterBind9Provider](),
	bind9.Resource("bind9clusters"):         reflect.TypeFor[bind9.Bind9Cluster](),
	bind9.Resource("bind9instances"):        reflect.TypeFor[bind9.Bind9Instance](),
}

// checkBodies bounds the bodies of all requests, and checks the types of patches.
func checkBodies(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest || r.Body == nil || r.Body == http.NoBody {
			handler.ServeHTTP(w, r)
			return
		}
		of, kind := kindsOf[schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}], strings.TrimSuffix(info.Resource, "s")
		if of != nil {
			kind = of.Name()
		}
		contentType := r.Header.Get("Content-Type")
		// Controllers write deliveries, in JSON, and those list as much as their validation allows.
		if body := boundBody(r.Body, kind, contentType); body.isYAML || info.Resource != "deliveries" {
			r.Body = body
		}
		if of != nil && info.Verb == "patch" && info.Subresource != "scale" {
			r.Body = &patchBody{ReadCloser: r.Body, media: types.PatchType(mediaOf(contentType)), of: of}
		}
		handler.ServeHTTP(w, r)
	})
}

// patchBody is a patch that ends in an error where a field has a value of another type than it takes (S5.3). Of a
// number that is too large for its field, the generic server takes what is left, in a strategic merge patch and an
// apply; and it refuses a merge patch with the whole object in the answer, before the field. Objects, and those that a
// JSON patch leads to, it decodes strictly, and names the field itself.
type patchBody struct {
	io.ReadCloser
	media types.PatchType
	of    reflect.Type
	read  bytes.Buffer
}

func (p *patchBody) Read(into []byte) (int, error) {
	n, err := p.ReadCloser.Read(into)
	p.read.Write(into[:n])
	if err == io.EOF {
		if wrong := p.checkTypes(); wrong != nil {
			return n, wrong
		}
	}
	return n, err
}

func (p *patchBody) checkTypes() error {
	patch := p.read.Bytes()
	switch p.media {
	case types.MergePatchType, types.StrategicMergePatchType:
	case types.ApplyYAMLPatchType:
		var err error
		if patch, err = yaml.YAMLToJSON(patch); err != nil {
			return nil // the generic server says so
		}
	default:
		return nil
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(patch, reflect.New(p.of).Interface()); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("%s cannot be read: %v (kubectl explain %s --recursive shows what each field takes)",
			p.of.Name(), err, strings.ToLower(p.of.Name())))
	}
	return nil
}
