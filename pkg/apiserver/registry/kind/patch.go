// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/registry/rest"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/pkg/apis/decoding"
)

type patch struct {
	media  types.PatchType
	strict bool // unknown fields are faults
	text   bytes.Buffer
}

type patchKey struct{}

// KeepPatch returns a request that keeps the text of the patch while the generic apiserver reads it, so that explained
// can name the field at fault.
func KeepPatch(r *http.Request, media types.PatchType) *http.Request {
	// Server-side apply always refuses unknown fields.
	strict := media == types.ApplyYAMLPatchType || r.URL.Query().Get("fieldValidation") == metav1.FieldValidationStrict
	p := &patch{media: media, strict: strict}
	r = r.WithContext(context.WithValue(r.Context(), patchKey{}, p))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, &p.text), r.Body}
	return r
}

func WithApplied(ctx context.Context, text []byte) context.Context {
	return context.WithValue(ctx, patchKey{}, &patch{media: types.ApplyYAMLPatchType, strict: true, text: *bytes.NewBuffer(text)})
}

// explained explains why an update does not decode. The generic apiserver may answer 500.
type explained struct{ rest.UpdatedObjectInfo }

// UpdatedObject answers 400 with field, value and the right form if a patch does not fit the type (S5.13).
func (e explained) UpdatedObject(ctx context.Context, existing runtime.Object) (runtime.Object, error) {
	of := reflect.TypeOf(existing).Elem()
	p, isPatch := ctx.Value(patchKey{}).(*patch)
	// A merge patch or an apply has the shape of the object, so its text can be checked before.
	if isPatch && p.media != types.JSONPatchType {
		if err := p.checkTypes(p.text.Bytes(), of); err != nil {
			return nil, err
		}
	}
	out, err := e.UpdatedObjectInfo.UpdatedObject(ctx, existing)
	var status apierrors.APIStatus
	switch {
	// The storage would answer 500 unless the resourceVersion is a number.
	case err == nil:
		version := out.(metav1.Object).GetResourceVersion()
		if _, wrong := strconv.ParseUint(cmp.Or(version, "0"), 10, 64); wrong != nil {
			err = apierrors.NewBadRequest(fmt.Sprintf("metadata.resourceVersion: got %.60q; want that of the last read",
				version))
		}
	// A JSON patch has only operations: apply them, and check the result.
	case isPatch && p.media == types.JSONPatchType:
		operations, _ := jsonpatch.DecodePatch(p.text.Bytes()) // the generic server has the error
		stored, _ := json.Marshal(existing)
		if patched, failed := operations.Apply(stored); failed == nil {
			err = cmp.Or(p.checkTypes(patched, of), err)
		}
	// An error without a status would be a 500, although the client's patch is wrong.
	case isPatch && !errors.As(err, &status) && ctx.Err() == nil:
		err = apierrors.NewBadRequest(err.Error())
	}
	return out, err
}

// checkTypes returns a 400 that names each field of text that does not fit the type, or nil.
func (p *patch) checkTypes(text []byte, of reflect.Type) error {
	if p.media == types.ApplyYAMLPatchType && !json.Valid(text) {
		text, _ = yaml.YAMLToJSON(text)
	}
	unknown, err := kjson.UnmarshalStrict(text, reflect.New(of).Interface())
	if err == nil && (len(unknown) == 0 || !p.strict) {
		return nil
	}
	if faults := decoding.Explain(decoding.Read(text), of, "", p.strict); len(faults) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("%s cannot be read: %v", of.Name(), utilerrors.NewAggregate(faults)))
	}
	return nil // a patch directive, or invalid JSON
}
