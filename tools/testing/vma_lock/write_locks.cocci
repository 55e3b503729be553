// SPDX-License-Identifier: GPL-2.0-only
/// List every write to a field of a VMA that Documentation/mm/vma_lock.rst
/// protects, every store to a tree of VMAs and every place that frees a VMA,
/// with what comes before it in the same function. write_locks.py runs this and
/// judges what it says.
///
// Confidence: High
// Comments: prints one line for each fact: what, file, line, column, function,
// and some text, separated by tabs.
//	write	a write to a field, a store or a release; text is the VMA or
//		NULL
//	whole	a write to a whole VMA
//	type	the type of the VMA, where spatch knows it
//	lock	a path from a write-lock of this VMA leads there
//	new	a path from the allocation of this VMA leads there
//	bare	a path leads there from the entry of the function, from another
//		assignment to the variable or from the end of a write section,
//		with no write-lock and no allocation in between
//	later, never	the VMA is removed (vma_write_detach()) after this store,
//		or the tree is cleared (vma_tree_store()) without that
//	given, kept	the VMA that is freed there was assigned from text, and that
//		was write-locked
//	noted	vma_note_removal() comes before
//	param	the VMA is a parameter of the function
// Options: --no-includes --include-headers

virtual report

@initialize:python@
@@

def fact(word, place, text):
	for p in place:
		print("\t".join([word, p.file, p.line, p.column, p.current_element, text]))

@write@
expression v, m, e;
identifier id =~ "^(vm_start|vm_end|vm_pgoff|(__)?vm_flags|vm_file|anon_name)$";
assignment operator ao;
symbol vm_area_cachep;
position p;
@@

(
	\(v->id@p ao e\|v.id@p ao e\|ACCESS_PRIVATE(v, id@p) ao e\)
|
	\(v->id@p++\|v->id@p--\|++v->id@p\|--v->id@p\)
|
	\(&v->id@p\|&v.id@p\|&ACCESS_PRIVATE(v, id@p)\)
|
	\(WRITE_ONCE(v->id@p, e)\|WRITE_ONCE(ACCESS_PRIVATE(v, id@p), e)\)
|
	\(swap(v->id@p, e)\|swap(e, v->id@p)\)
|
	\(vma_mas_szero@p\)(m, \(v->vm_start\|v->vm_end\), e)
|
	\(vma_mas_szero@p\)(m, e, \(v->vm_start\|v->vm_end\))
|
	\(vma_tree_store@p\|vma_tree_store_gfp@p\|mas_store@p\|mas_store_gfp@p\|mas_store_prealloc@p\|
	    mas_insert@p\|vma_iter_store@p\|vma_iter_store_gfp@p\|
	    vma_iter_store_overwrite@p\|vma_iter_store_new@p\|
	    vma_iter_bulk_store@p\)(m, v, ...)
|
	\(vma_mas_store@p\|vma_mas_remove@p\|vma_mas_szero@p\|vma_set_file@p\|
	    vma_set_range@p\|vm_flags_init@p\|vm_flags_reset@p\|
	    vm_flags_reset_once@p\|vm_flags_set@p\|vm_flags_clear@p\|
	    vm_flags_mod@p\|__vm_flags_mod@p\|vm_area_free@p\|__vm_area_free@p\|
	    remove_vma@p\)(v, ...)
|
	\(mas_erase@p\|mas_wr_store_reserved@p\|vma_iter_clear@p\|vma_iter_clear_gfp@p\|__mt_destroy@p\|
	    mtree_destroy@p\|mtree_erase@p\)(v)
|
	\(mtree_store@p\|mtree_store_range@p\|mtree_insert@p\)(v, ...)
|
	vma_iter_clear_gfp@p(v, ...)
|
	kmem_cache_free@p(vm_area_cachep, v)
)

// A VMA as a whole.
@whole@
struct vm_area_struct *v;
struct vm_area_struct o;
expression e;
position p;
@@

(
	*v@p = e
|
	o@p = e
|
	\(memset@p\|memcpy@p\|memmove@p\)(v, ...)
|
	\(memset@p\|memcpy@p\|memmove@p\)(&o, ...)
)

@typed@
position write.p;
type T;
T x;
identifier id;
@@

	\(x->id@p\|x.id@p\)

@alloc@
expression v;
position q;
@@

	v@q = \(vm_area_alloc\|vm_area_dup\|kmem_cache_alloc\|kmem_cache_zalloc\|kmalloc\|kzalloc\)(...)

@new exists@
position write.p;
expression write.v, e;
identifier id;
@@

(
	v = \(vm_area_alloc\|vm_area_dup\|kmem_cache_alloc\|kmem_cache_zalloc\|kmalloc\|kzalloc\)(...)
|
	vma_init(v, ...)
)
	... when != v = e
	\(v->id@p\|v.id@p\|ACCESS_PRIVATE(v, id@p)\|id@p(...)\)

@locked exists@
position write.p;
expression write.v, e;
identifier id;
@@

	\(vma_change_begin\|vma_write_detach\|vma_change_attach\|vma_lock_retire\|
	    vma_mas_store\|vm_flags_set\|vm_flags_clear\|vm_flags_mod\)(v, ...)
	... when != v = e
	    when != mmap_write_unlock(...)
	    when != mmap_write_downgrade(...)
	\(v->id@p\|v.id@p\|ACCESS_PRIVATE(v, id@p)\|id@p(...)\)

@entry exists@
position write.p;
expression write.v;
identifier f, id;
@@

f(...)
{
	... when != \(vma_change_begin\|vma_write_detach\|vma_change_attach\|vma_lock_retire\)(v)
	    when != \(vma_mas_store\|vm_flags_set\|vm_flags_clear\|vm_flags_mod\|vma_init\)(v, ...)
	    when != v = \(vm_area_alloc\|vm_area_dup\|kmem_cache_alloc\|kmem_cache_zalloc\|kmalloc\|kzalloc\)(...)
	\(v->id@p\|v.id@p\|ACCESS_PRIVATE(v, id@p)\|id@p(...)\)
	... when any
}

@again exists@
position write.p, q != alloc.q;
expression write.v, e;
identifier id;
@@

(
	v@q = e
|
	mmap_write_unlock@q(...)
|
	mmap_write_downgrade@q(...)
)
	... when != \(vma_change_begin\|vma_write_detach\|vma_change_attach\|vma_lock_retire\)(v)
	    when != \(vma_mas_store\|vm_flags_set\|vm_flags_clear\|vm_flags_mod\|vma_init\)(v, ...)
	    when != v = \(vm_area_alloc\|vm_area_dup\|kmem_cache_alloc\|kmem_cache_zalloc\|kmalloc\|kzalloc\)(...)
	\(v->id@p\|v.id@p\|ACCESS_PRIVATE(v, id@p)\|id@p(...)\)

@loop exists@
position write.p;
expression write.v;
identifier id;
iterator each;
@@

each(..., v, ...)
{
	... when != \(vma_change_begin\|vma_write_detach\|vma_change_attach\|vma_lock_retire\)(v)
	\(v->id@p\|v.id@p\|id@p(...)\)
	... when any
}

// A store of what another tree gathers: is it write-locked afterwards, and always?
@later exists@
position write.p;
expression write.v;
identifier id;
@@

	id@p(..., v, ...)
	...
	vma_write_detach(v)

@spared exists@
position write.p;
expression write.v, m;
identifier id;
@@

	id@p(..., v, ...)
	... when != vma_write_detach(v)
	vma_tree_store(m, NULL)

// A VMA that is freed under another name.
@given exists@
position write.p;
expression write.v;
identifier w;
@@

	v = w
	... when != vma_change_begin(v)
	vm_area_free@p(v)

@kept exists@
position write.p;
expression write.v;
identifier given.w, id;
@@

	vma_change_begin(w)
	...
	v = w
	...
	id@p(v)

// A store that clears a range: were the VMAs of the range noted before?
@noted exists@
position write.p;
identifier id;
@@

	vma_note_removal(...)
	...
	id@p(..., NULL, ...)

@param@
position write.p;
identifier f, id, x;
@@

f(..., struct vm_area_struct *x, ...)
{
	<...
	\(x->id@p\|ACCESS_PRIVATE(x, id@p)\|id@p(..., x, ...)\)
	...>
}

@script:python depends on report@
p << write.p;
v << write.v;
@@

fact("write", p, v)

@script:python depends on report@
p << whole.p;
@@

fact("whole", p, "")

@script:python depends on report@
p << write.p;
t << typed.T;
@@

fact("type", p, t)

@script:python depends on report@
p << write.p;
id << new.id;
@@

fact("new", p, "")

@script:python depends on report@
p << write.p;
id << locked.id;
@@

fact("lock", p, "")

@script:python depends on report@
p << write.p;
id << entry.id;
@@

fact("bare", p, "")

@script:python depends on report@
p << write.p;
id << again.id;
@@

fact("bare", p, "")

@script:python depends on report@
p << write.p;
id << loop.id;
@@

fact("bare", p, "")

@script:python depends on report@
p << write.p;
id << later.id;
@@

fact("later", p, "")

@script:python depends on report@
p << write.p;
id << spared.id;
@@

fact("never", p, "")

@script:python depends on report@
p << write.p;
id << noted.id;
@@

fact("noted", p, "")

@script:python depends on report@
p << write.p;
id << param.id;
@@

fact("param", p, "")

@script:python depends on report@
p << write.p;
w << given.w;
@@

fact("given", p, w)

@script:python depends on report@
p << write.p;
w << given.w;
id << kept.id;
@@

fact("kept", p, w)
