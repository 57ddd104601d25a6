"""The readers behind the laws of the house, on sources made up for the purpose."""

import house_types
from house import Crate, circles, python_imports, ties, tokens, without_tests


def test_fields_are_counted():
    many = "".join(f"    /// A: b.\n    pub(super) f{n}: Map<u8, [u8; 2]>,\n" for n in range(16))
    text = f"/// Its fields are columns.\n#[derive(Debug)]\npub struct A {{\n{many}}}\n"
    assert [*house_types.structs(tokens(text))] == [("A", 16)]
    assert [*house_types.structs(tokens("struct B<'a> { a: &'a u8 } struct C(u8);"))] == [("B", 1)]


def test_circles_in_python_are_found():
    typing = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import e\n"
    files = {
        "p": "from p import a\n",
        "p.a": "try:\n    from p.b import x, y\nexcept ImportError:\n    pass\n",
        "p.b": "class C:\n    from p import c\n",
        "p.c": "import p.a\n",
        "p.d": typing,
        "p.e": "from p.d import z\n",
        "p.f": "def f():\n    with x:\n        from p.g import z\n",
        "p.g": "class G:\n    async def f(self):\n        import p.f\n",
    }
    imports = python_imports(files)
    assert circles(imports) == [["p.a", "p.b", "p.c"], ["p.f", "p.g"]]
    assert ties(["p.a", "p.b"], imports)["p.a"] == "in a circle: takes x, y from p.b"


FAR = """
use crate::{b::{B, other::Z}, c};
pub(in crate::d) struct Far;
const S: &str = "crate::D"; const C: char = '"'; // crate::D
"""


def test_circles_in_rust_are_found():
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\npub use a::deep::{Deep as Sea, self};\npub use d::*;",
        "a/mod.rs": "pub mod deep;\nmod far;\npub use deep::Deep;\npub use far::Far;",
        "a/deep.rs": "use super::Far;\npub struct Deep;\n/* use crate::c; */ // use crate::c;",
        "a/far.rs": FAR,
        "b.rs": "fn f() -> u8 { crate::Sea::new::<u8>(self.x) }\npub struct B;",
        "c.rs": "#[cfg(test)]\nmod tests { use crate::a::Far; }\n#[cfg(test)]\nmod c_tests;",
        "c/c_tests.rs": "use crate::a::Far;",
        "d.rs": "mod inner { use super::super::b::B; use super::E; }\npub struct D; pub struct E;",
    }
    imports = Crate(files).imports()
    assert circles(imports) == [["a/deep.rs", "a/far.rs", "b.rs"]]
    assert {k: {t: sorted(n) for t, n in v.items()} for k, v in imports.items()} == {
        "a/deep.rs": {"a/far.rs": ["Far"]},
        "a/far.rs": {"b.rs": ["B", "other"], "c.rs": ["c"]},
        "b.rs": {"a/deep.rs": ["Deep"]},
        "d.rs": {"b.rs": ["B"]},
    }
    files["d.rs"] += "use crate::b::B as C;"
    files["b.rs"] += "fn g(_: crate::D) {}"
    assert circles(Crate(files).imports())[1:] == []
    assert "d.rs" in circles(Crate(files).imports())[0]
    files["a/mod.rs"] += "pub struct Own(deep::Deep);"
    files["a/deep.rs"] += "\nuse super::*;"
    assert "a/mod.rs" in circles(Crate(files).imports())[0]


def test_imports_within_a_function_count_in_rust():
    files = {
        "lib.rs": "mod a; mod b;",
        "a.rs": "pub struct A; fn f() { if x { use crate::b::B; } }",
        "b.rs": "pub struct B; fn f(_: crate::a::A) {}",
    }
    assert circles(Crate(files).imports()) == [["a.rs", "b.rs"]]


def test_what_is_compiled_for_tests_does_not_count():
    cut = """struct A { #[cfg(test)] log: Vec<u8>, kept: u8 }
    #[cfg(test)] pub(super) fn g() { "}" }
    #[cfg(test)] #[path = "x/y.rs"] mod z; #[cfg(test)] mod w;
    fn f() {}"""
    code, files = without_tests(cut)
    assert code.split() == ["struct", "A", "{", "kept:", "u8", "}", "fn", "f()", "{}"]
    assert files == ["x/y.rs", "w.rs"]


def test_comments_and_strings_are_no_code():
    text = """f(b"a\\"b", r#"c"d"#, 'e', '\\'', 'g: loop) /* h
    */ // i"""
    assert tokens(text) == ["f", "(", '"', ",", '"', ",", '"', ",", '"', ",", ":", "loop", ")"]


def test_writes_from_other_files_are_found():
    writer = """
impl A {
    fn f(&mut self) {
        self.total += 1;
        self.inner.list[self.n].when = 2;
        self.many.push(3);
        let it = &mut self.lent[0];
        if self.read == 1 && self.read <= 2 || self.read >= 3 {}
        match self.read { 1 => self.kept <<= 4, _ => {} }
        call(&mut self.asked.get(), &self.read);
        let Own { mine } = Own { mine: self.read };
        own.mine = 5;
    }
}
struct Own { mine: u8 }
"""
    declared = ["total", "when", "many", "lent", "read", "kept", "asked", "mine", "inner", "n"]
    types = "pub struct A<T> where T: X { " + ", ".join(
        f"pub {it}: Vec<(u8, T)>" for it in declared
    )
    files = {"lib.rs": "mod a; mod b;", "a.rs": types + " }", "b.rs": writer}
    found = ["total", "when", "many", "lent", "kept"]
    assert [*house_types.foreign_writes(Crate(files))] == [("b.rs", it, ["a.rs"]) for it in found]
    # A type that a folder declares is written within the folder.
    for path, by in (("a/b.rs", "a/mod.rs"), ("a/b/c.rs", "a.rs")):
        files = {"lib.rs": "mod a;", by: types + " }", path: writer}
        assert [*house_types.foreign_writes(Crate(files))] == []
    files = {"lib.rs": types + " }", "b.rs": writer}
    assert len([*house_types.foreign_writes(Crate(files))]) == len(found)


def test_circles_of_calls_over_several_files_are_found():
    files = {
        "lib.rs": "mod a; mod b; mod c;",
        "a.rs": "pub struct A<T>;\nimpl<T: Fn() -> u8> A<T> { fn f(&self) { self.g() } }",
        "b.rs": "use super::a::A;\nimpl<T> A<T> where T: X { fn g(&self) { if x { Self::h(1) } } }",
        "c.rs": "use crate::a::*;\nimpl Run for A<u8> { fn h(&self) -> impl B { self.f::<u8>() } }",
    }
    assert [*house_types.circles_of_calls(Crate(files))] == [("A", ["f", "g", "h"])]
    # A method that calls itself is recursion, and another type of the same name another type.
    whole = {"lib.rs": "struct A; impl A { fn f(&self) { self.f() } fn g(&self) { self.f() } }"}
    assert [*house_types.circles_of_calls(Crate(whole))] == []
    files["c.rs"] = "struct A;\nimpl Run for A { fn h(&self) { self.f() } }"
    assert [*house_types.circles_of_calls(Crate(files))] == []


MESSAGES = """
impl A {
    fn begin(&mut self) { self.due.push(Due::Next(1)); self.work_off(); }
    fn work_off(&mut self) {
        while let Some(due) = self.due.pop() {
            match due {
                Due::Next(n) if n > 0 => { self.go_on(); }
                Due::Next(_) | Due::Over => self.end(),
            }
        }
    }
    fn go_on(&mut self) { self.then(&[Due::Over, Due::Next(0)]) }
    fn end(&mut self) {}
}
"""


def test_a_message_that_is_put_on_a_list_is_a_call_of_its_handler():
    """By whatever name messages go; where nothing puts them back there is no circle."""
    for name in ("Due", "Todo"):
        text = MESSAGES.replace("Due", name)
        (found,) = house_types.circles_of_calls(Crate({"lib.rs": f"struct A; {text}"}))
        assert found == ("A", [f"{name}::Next", "go_on"])
    ended = MESSAGES.replace(", Due::Next(0)", "")
    assert [*house_types.circles_of_calls(Crate({"lib.rs": f"struct A; {ended}"}))] == []
    # An event that comes later may bring about the next one.
    later = MESSAGES.replace("push(Due", "push(at, Due")
    assert [*house_types.circles_of_calls(Crate({"lib.rs": f"struct A; {later}"}))] == []


def test_numbers_that_stand_for_variants_are_found():
    def decodes(text):
        return house_types.decodes_numbers(tokens(text))

    assert decodes(
        "match n >> 4 { 0 => A, 1 => { match m { B => {} } } 2 => C, _ => unreachable!() }"
    )
    assert not decodes("match n { 0 | 1 => A, 2 => B, even if even % 2 == 0 => C, 4 => D }")
    assert not decodes("match n { 1.0 => A, 2.0 => B, 3.0.. => C, 4..6 => D }")
