"""The readers behind the law of the house, on sources made up for the purpose."""

from house import Crate, circles, python_imports, structs, ties


def test_fields_are_counted():
    many = "".join(f"    /// A: b.\n    pub(super) f{n}: Map<u8, [u8; 2]>,\n" for n in range(16))
    text = f"/// It.\n/// Its fields are columns.\n#[derive(Debug)]\npub struct A {{\n{many}}}\n"
    assert [*structs(text)] == [("A", 16, "It. Its fields are columns. #[derive(Debug)]")]
    assert [*structs("fn a() {}\n// fields\n\nstruct B<'a> { a: &'a u8 }")] == [("B", 1, "")]


def test_circles_in_python_are_found():
    lazy = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.a\n"
    files = {
        "p": "from p import a\n",
        "p.a": "try:\n    from p.b import x, y\nexcept ImportError:\n    pass\n",
        "p.b": "class C:\n    from p import c\n",
        "p.c": "import p.a\n",
        "p.d": lazy + "from p import e\n",
        "p.e": "def f():\n    from p.d import z\n",
    }
    imports = python_imports(files)
    assert circles(imports) == [["p.a", "p.b", "p.c"]]
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
