"""What a label announces is replaced, in any language: values, addresses, numbers, columns; prose stays."""

from __future__ import annotations

import pytest

from rocm_doctor.redaction.redactor import Redactor


@pytest.mark.parametrize(
    ("text", "planted"),
    [
        ("이름: 노을빛", "노을빛"),
        ("الاسم: وائل الزهراوي", "وائل الزهراوي"),
        ("نام: سهراب دشتستانی", "سهراب دشتستانی"),
        ("रिपोर्ट\nनाम: वैदेही कुलश्रेष्ठ\n", "वैदेही कुलश्रेष्ठ"),
        ("ชื่อ: กันตพล ศรีบุญเรืองชัย", "กันตพล"),
        ("পুরো নাম: x\nনাম: অরুণিমা সান্যাল\n", "অরুণিমা সান্যাল"),
        ("பெயர்: நளினி வேலாயுதம்", "நளினி வேலாயுதம்"),
        ("शुक्रिया, मीनल (Meenal Tamhankar)", "Meenal Tamhankar"),
    ],
)
def test_names_behind_labels_in_any_script(text: str, planted: str) -> None:
    assert planted not in Redactor().text(text)


@pytest.mark.parametrize(
    "kept",
    [
        "커널 6.8.0 문제입니다.",
        "我是做深度学习的学生，训练报错。",
        "안녕하세요, ROCm 사용자입니다. 학습을 시작하면 메모리 부족 오류가 발생하고 커널 모듈이 다시 로드됩니다.",
        "커널 모듈을 다시 로드해도 동일한 오류가 발생합니다. 파일시스템은 정상입니다.",
        "مرحبا، عند تشغيل التدريب على البطاقة يتوقف البرنامج وتظهر رسالة خطأ في الذاكرة.",
        "שלום, כשאני מריץ אימון על הכרטיס התוכנית נופלת עם שגיאת זיכרון.",
        "नमस्ते, ट्रेनिंग चलाते समय प्रोग्राम बंद हो जाता है और मेमोरी की त्रुटि आती है।",
        "เมื่อรันโปรแกรมแล้วขึ้นข้อผิดพลาดหน่วยความจำไม่พอ และต้องรีบูตเครื่อง",
        "증상: 화면이 멈춤\nGPU: RX 7900 XTX\n드라이버: 6.8.0",
    ],
)
def test_prose_in_these_scripts_stays(kept: str) -> None:
    assert Redactor().text(kept) == kept


@pytest.mark.parametrize(
    ("text", "planted"),
    [
        ("kom. 604 555 218", "604 555 218"),
        ("puh. 040 555 3187", "040 555 3187"),
        ("τηλ. 24310 55 617", "24310 55 617"),
        ("SĐT: 0905 551 238", "0905 551 238"),
        ("reach me: +32 4 555 81 26", "4 555 81 26"),
        ("NIP: 781-555-21-09", "781-555-21-09"),
        ("CNPJ 41.555.802/0001-37", "41.555.802/0001-37"),
        ("ИНН 7799555012", "7799555012"),
        ("org.nr 559555-2017", "559555-2017"),
        ("Adres: ul. Wierzbowa 12/4, Lipno", "Wierzbowa 12/4"),
        ("серийный номер карты 692755104418", "692755104418"),
        ("serial: 07X1122_K51Z220417 UEFI: AMI v: 1.9", "07X1122_K51Z220417"),
        ("fingerprint " + ":".join(["a7", "19", "c3", "5e"] * 4), "a7:19:c3:5e:a7"),
        ("GENERAL.HWADDR:7C\\:10\\:C9\\:5B\\:22\\:E1", "7C\\:10\\:C9"),
        ("/org/bluez/hci0/dev_7C_10_C9_5B_22_E1", "7C_10_C9"),
        ("Host x\n  User m.birnstiel\n", "m.birnstiel"),
        ("Invoke-Command -Credential KIRSCHE\\svc-apfel", "svc-apfel"),
        ("dial-in pin 481207", "481207"),
        ("| node | tenant |\n|---|---|\n| birke-7x | Fairweather Mutual |\n", "birke-7x"),
        ("| node | tenant |\n|---|---|\n| birke-7x | Fairweather Mutual |\n", "Fairweather Mutual"),
        ("Firma x sp. z o.o. NIP 955-550-71-22", "955-550-71-22"),
        ("host;user;gpu\nbirke-7x;apfelina;MI300X\n", "apfelina"),
    ],
)
def test_numbers_and_columns_by_the_words_beside_them(text: str, planted: str) -> None:
    assert planted not in Redactor().text(text)


@pytest.mark.parametrize(
    "kept",
    [
        "00: 02 10 bf 73 06 04 10 00 00 00 00 03 10 00 00 00",
        "address: 0x00007f41a2ffd6c0 size 4096",
        "Address: 127.0.0.1 port 29500",
        "cell 12 of 40, signal 11, tel: none",
        "pin 12 of the connector is bent",
        "| GPU | VRAM |\n|---|---|\n| MI300X | 192 GB |\n",
        "| node | gpu |\n|---|---|\n| node1 | MI300X |\n| localhost | gfx1100 |\n",
        "serial console ttyS0,115200n8 and serial 7900 XTX",
        "Apple M2 8GB, RX7 9XT",
        "from foo.cc and lib/x.cc and main.py",
        "vendor=0x1002, 20000 Steps of training",
    ],
)
def test_what_only_looks_like_it_stays(kept: str) -> None:
    assert Redactor().text(kept) == kept


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("node", "/dev/kfd"),
        ("node", "RX 7900 XTX"),
        ("machine", "Ryzen 9 7950X"),
        ("machine", "Strix Halo"),
        ("host", "Ubuntu 24.04"),
        ("node", "rocm/pytorch:latest"),
        ("server", "vLLM"),
        ("client", "curl"),
        ("address", "0x7f3a00001000"),
        ("owner", "root:render"),
    ],
)
def test_a_column_for_names_may_hold_words_of_the_field(column: str, cell: str) -> None:
    table = f"| {column} | result |\n|---|---|\n| {cell} | ok |\n| eiderbox | ok |\n"
    assert f"| {cell} | ok |" in Redactor().text(table)
    assert "eiderbox" not in Redactor().text(table)
